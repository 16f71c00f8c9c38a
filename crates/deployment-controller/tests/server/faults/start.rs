//! A start at which something about the server or the way to it is wrong.

use testkit::builders::{Templated as _, deployment};
use testkit::controller::Controller;
use testkit::proxy::{Proxy, Which};
use testkit::{Access, Scene, fact};
use workload_core::time::{Clock as _, SystemClock};

use super::{ALONE, asked_at_most, lives_unready};
use crate::PROGRAM;

/// Waits until every cache has failed three times with this code, each time told in the log with `words`.
async fn fails(scene: &Scene, controller: &Controller, code: &str, words: &str) {
    let began = SystemClock.instant();
    let failures = async || {
        controller
            .metrics()
            .await
            .count("cache_watch_failures_total", &[("code", code)])
    };
    scene
        .eventually("each cache has tried three times", async || failures().await >= 9)
        .await;
    let most = asked_at_most(began) + 3;
    let failed = usize::try_from(failures().await).unwrap();
    assert!(failed <= most, "{failed} tries, {most} would be calm");
    assert!(controller.says(words) >= 9, "{}", controller.log_about("failed"));
    lives_unready(controller).await;
}

#[test]
fn a_server_that_cannot_be_reached_is_waited_for() {
    fact(async |scene| {
        let proxy = Proxy::start(scene.server()).await;
        proxy.cut_off();
        let mut started = scene.launch(&Access::through(&proxy), &PROGRAM, &ALONE).await;
        fails(scene, &started, "<error>", "no connection to http").await;
        proxy.reconnect();
        started.until_ready().await;
        scene.put_controller(started);
        scene.settle(deployment("web").replicas(3)).await;
    });
}

#[test]
fn a_server_with_another_authority_is_not_trusted() {
    fact(async |scene| {
        let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let access = Access {
            authority: Some(other.cert.pem()),
            ..Access::default()
        };
        let started = scene.launch(&access, &PROGRAM, &ALONE).await;
        fails(scene, &started, "<error>", "certificate").await;
    });
}

#[test]
fn a_token_that_the_server_does_not_know_is_refused_and_told() {
    fact(async |scene| {
        let proxy = Proxy::start(scene.server()).await;
        let access = Access {
            token: Some("nobody".to_owned()),
            ..Access::through(&proxy)
        };
        let started = scene.launch(&access, &PROGRAM, &ALONE).await;
        fails(scene, &started, "401", "Unauthorized").await;
        let all = proxy.seen(&Which::all());
        assert!(all.iter().all(|one| one.code == Some(401)), "{all:#?}");
    });
}
