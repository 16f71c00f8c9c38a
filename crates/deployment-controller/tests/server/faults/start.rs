//! A start at which something about the server or the way to it is wrong.

use std::net::SocketAddr;
use std::time::Instant;

use testkit::builders::{Templated as _, deployment};
use testkit::controller::Controller;
use testkit::proxy::{Proxy, Which};
use testkit::server::{Server, skipped};
use testkit::{Access, Scene, fact};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use workload_core::time::{Clock as _, SystemClock};

use super::{ALONE, asked_at_most, lives_unready, ready};
use crate::PROGRAM;

/// Waits until every cache of a controller that was launched at `began` has failed three times with this code, each time told
/// in the log with `words`.
async fn fails(scene: &Scene, (controller, began): (&Controller, Instant), code: &str, words: &str) {
    let failures = async || {
        controller
            .metrics()
            .await
            .count("cache_watch_failures_total", &[("code", code)])
    };
    scene
        .eventually("each cache has tried three times", async || failures().await >= 9)
        .await;
    let failed = usize::try_from(failures().await).unwrap();
    let most = asked_at_most(began) + 3;
    assert!(failed <= most, "{failed} tries, {most} would be calm");
    assert!(controller.says(words) >= 9, "{}", controller.log_about("failed"));
    lives_unready(controller).await;
}

#[test]
fn a_server_that_cannot_be_reached_is_waited_for() {
    fact(async |scene| {
        let proxy = Proxy::start(scene.server()).await;
        proxy.cut_off();
        let began = SystemClock.instant();
        let mut started = scene.launch(&Access::through(&proxy), &PROGRAM, &ALONE).await;
        fails(scene, (&started, began), "<error>", "no connection to http").await;
        proxy.reconnect();
        started.until_ready().await;
        scene.put_controller(started);
        scene.settle(deployment("web").replicas(3)).await;
    });
}

#[test]
fn a_server_with_another_authority_is_not_trusted_until_the_right_one_answers() {
    fact(async |scene| {
        let Some(stranger) = Server::kcm().await else {
            return skipped("a second server with an authority of its own");
        };
        let way = Junction::to(address(stranger)).await;
        let access = Access {
            address: Some(format!("https://{}", way.address)),
            ..Access::default()
        };
        let began = SystemClock.instant();
        let mut started = scene.launch(&access, &PROGRAM, &ALONE).await;
        fails(scene, (&started, began), "<error>", "certificate").await;
        way.lead_to(address(scene.server()));
        started.until_ready().await;
        scene.put_controller(started);
        scene.settle(deployment("web").replicas(3)).await;
    });
}

/// A port whose connections lead to one server or another.
struct Junction {
    address: SocketAddr,
    target: watch::Sender<String>,
    _task: JoinSet<()>,
}

impl Junction {
    async fn to(target: String) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let target = watch::Sender::new(target);
        let (mut task, leads_to) = (JoinSet::new(), target.subscribe());
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                let target = leads_to.borrow().clone();
                connections.spawn(async move {
                    // An error is the end of either side.
                    if let Ok(mut far) = TcpStream::connect(target).await {
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        Self {
            address,
            target,
            _task: task,
        }
    }

    /// New connections lead there.
    fn lead_to(&self, target: String) {
        self.target.send_replace(target);
    }
}

/// Where a server listens, as `host:port`.
fn address(server: &Server) -> String {
    let config = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let (_, rest) = config.split_once("https://").expect("an address");
    let end = |c: char| !(c.is_ascii_alphanumeric() || ".:-".contains(c));
    rest.split(end).next().unwrap().to_owned()
}

#[test]
fn a_token_that_the_server_does_not_know_is_refused_and_told_until_another_comes() {
    fact(async |scene| {
        let proxy = Proxy::start(scene.server()).await;
        let account = scene.account(&PROGRAM).await;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "nobody").unwrap();
        let access = Access {
            token_file: Some(file.clone()),
            ..Access::through(&proxy)
        };
        let began = SystemClock.instant();
        let started = scene.launch(&access, &PROGRAM, &ALONE).await;
        fails(scene, (&started, began), "401", "Unauthorized").await;
        let all = proxy.seen(&Which::all());
        assert!(all.iter().all(|one| one.code == Some(401)), "{all:#?}");
        // The file is read again every minute.
        std::fs::write(&file, account.token()).unwrap();
        scene.eventually("it is ready", async || ready(&started).await).await;
        scene.put_controller(started);
        scene.settle(deployment("web").replicas(3)).await;
    });
}
