//! Quotas, webhooks, the end of a namespace.

use super::*;
use crate::proxy::Which;
use crate::simulation::server::{Quota, Refusal, Status};

fn quota(hard: usize) -> Quota {
    Quota {
        name: "few".to_owned(),
        namespace: "shop".to_owned(),
        kind: Kind::POD,
        hard,
    }
}

#[test]
fn a_quota_is_about_all_pods_that_have_not_ended() {
    let mut server = server();
    server.set_quota(quota(1));
    new_pod(&mut server, "a", None, true);
    let (code, status) = create(&mut server, PODS, &pod("b").json());
    let words = "pods \"b\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1";
    assert_eq!(
        (code, &status["reason"], &status["message"]),
        (403, &json!("Forbidden"), &json!(words))
    );
    server.create(Kind::POD, "other", pod("b").json(), at(0)).unwrap();
    let ended = json!({"status": {"phase": "Failed"}});
    server
        .merge(&place(Kind::POD, "a"), super::super::Part::Status, ended, at(0))
        .unwrap();
    assert_eq!(create(&mut server, PODS, &pod("b").json()).0, 201);
    assert_eq!(create(&mut server, PODS, &pod("c").json()).0, 403);
    server.set_quota(quota(2));
    assert_eq!(create(&mut server, PODS, &pod("c").json()).0, 201);
    server.remove_quota("shop", "few");
    assert_eq!(create(&mut server, PODS, &pod("d").json()).0, 201);
}

#[test]
fn a_refusal_strikes_controllers_as_often_as_was_said() {
    let mut server = server();
    let refusal = Refusal::Webhook {
        name: "pods.example.com".to_owned(),
        words: "no".to_owned(),
    };
    server.refuse(Which::creates().of(Kind::POD), 1, refusal);
    new_pod(&mut server, "by-hand", None, false);
    let (code, status) = create(&mut server, PODS, &pod("a").json());
    let words = "admission webhook \"pods.example.com\" denied the request: no";
    assert_eq!((code, &status["message"]), (403, &json!(words)));
    assert_eq!(create(&mut server, PODS, &pod("a").json()).0, 201);
}

#[test]
fn any_answer_can_be_scripted_with_a_time_to_wait() {
    let mut server = server();
    let busy = Status {
        retry_after: Some(3),
        ..Status::new(429, "TooManyRequests", "later")
    };
    server.refuse(Which::creates(), usize::MAX, Refusal::Status(busy));
    let create = request("POST", &format!("{PODS}?fieldManager=x"), JSON, &pod("a").json());
    let Reply::Answer(answer) = server.call(&create, at(0)) else {
        panic!()
    };
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["retry-after"]),
        (429, &"3".parse().unwrap())
    );
    server.refuse_no_more();
    assert!(matches!(server.call(&create, at(0)), Reply::Answer(answer) if answer.status().as_u16() == 201));
}

#[test]
fn a_namespace_that_ends_takes_nothing_new() {
    let mut server = server();
    let a = new_pod(&mut server, "a", None, false);
    server.end_namespace("shop");
    let (code, status) = create(&mut server, PODS, &pod("b").json());
    assert_eq!(
        (code, &status["details"]["causes"][0]["reason"]),
        (403, &json!("NamespaceTerminating"))
    );
    let words =
        "pods \"b\" is forbidden: unable to create new content in namespace shop because it is being terminated";
    assert_eq!(status["message"], words);
    let label = guarded(&a, json!({"metadata": {"labels": {"x": "1"}}}));
    assert_eq!(merge(&mut server, &format!("{PODS}/a"), &label).0, 200);
    server.create(Kind::POD, "other", pod("b").json(), at(0)).unwrap();
}
