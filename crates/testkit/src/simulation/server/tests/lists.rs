//! Lists.

use super::*;

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[test]
fn a_list_shows_one_version_page_by_page() {
    let mut server = server();
    for name in ["a", "b", "c", "d", "e"] {
        new_pod(&mut server, name, None, false);
    }
    let (_, first) = get(&mut server, "/api/v1/pods?limit=2");
    assert_eq!((&first["kind"], names(&first)), (&json!("PodList"), vec!["a", "b"]));
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    assert!(first["items"][0].get("kind").is_none());
    // What happens between the pages is not seen.
    delete(&mut server, Kind::POD, "d", &DeleteOptions::default());
    new_pod(&mut server, "d2", None, false);
    let next = |list: &Value| list["metadata"]["continue"].as_str().unwrap().to_owned();
    let token = next(&first);
    let (_, second) = get(&mut server, &format!("/api/v1/pods?limit=2&continue={token}"));
    assert_eq!(names(&second), ["c", "d"]);
    let (_, last) = get(&mut server, &format!("/api/v1/pods?limit=2&continue={}", next(&second)));
    assert_eq!(names(&last), ["e"]);
    assert!(last["metadata"].get("continue").is_none());
    for page in [&second, &last] {
        assert_eq!(
            page["metadata"]["resourceVersion"],
            first["metadata"]["resourceVersion"]
        );
    }
    server.compact(server.version());
    let (code, status) = get(&mut server, &format!("/api/v1/pods?limit=2&continue={token}"));
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
}

#[test]
fn a_list_shows_what_was_asked_for_in_the_order_of_namespaces_and_names() {
    let mut server = server();
    for (namespace, name, app) in [
        ("b", "x", "web"),
        ("a", "z", "api"),
        ("a-1", "y", "web"),
        ("a", "y", "web"),
    ] {
        let manifest = pod(name).label("app", app).json();
        server.create(Kind::POD, namespace, manifest, at(0)).unwrap();
    }
    for (uri, expected) in [
        ("/api/v1/pods?limit=9", &["y", "y", "z", "x"][..]),
        ("/api/v1/namespaces/a/pods?limit=9", &["y", "z"]),
        ("/api/v1/namespaces/c/pods?limit=9", &[]),
        ("/api/v1/pods?limit=9&labelSelector=app%3Dweb", &["y", "y", "x"]),
        ("/api/v1/pods?limit=9&fieldSelector=metadata.name%3Dz", &["z"]),
    ] {
        assert_eq!(names(&get(&mut server, uri).1), expected, "{uri}");
    }
    let (_, list) = get(&mut server, "/api/v1/pods?limit=9");
    assert_eq!(
        list["items"][0]["metadata"]["namespace"], "a-1",
        "as bytes, '-' is before '/'"
    );
}
