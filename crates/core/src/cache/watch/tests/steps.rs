use std::time::Duration;

use serde_json::{Value, json};

use super::{bookmark, event, initial_end, page, status};
use crate::cache::Store;
use crate::cache::sample::{Thing, key, spoiled, thing};
use crate::cache::watch::frame::{Ending, Frame, Page, ServerError, version_of_list};
use crate::cache::watch::step::{Ask, Change, Machine};
use crate::id::{ResourceVersion, Uid};
use crate::labels::Interner;

const MINUTE: Duration = Duration::from_mins(1);

/// Feeds lines to the machine; answers with what they change, as text.
fn lines(machine: &mut Machine, lines: &[String]) -> Vec<String> {
    let interner = Interner::default();
    let frames = lines
        .iter()
        .map(|line| Frame::<Thing>::decode(line.as_bytes(), &interner).unwrap());
    frames
        .filter_map(|frame| machine.frame(frame))
        .map(|change| text(&change))
        .collect()
}

fn take_page(machine: &mut Machine, page: &str) -> Vec<String> {
    let page = Page::<Thing>::decode(page.as_bytes(), &Interner::default()).unwrap();
    machine.page(page).iter().map(text).collect()
}

fn text(change: &Change<Thing>) -> String {
    match change {
        Change::Present(thing, source) => format!("{source:?} {}", thing.text()),
        Change::Absent(gone, source) => format!("{source:?} gone {}/{}", gone.key.name, gone.uid),
        Change::Unreadable(identity, source, _) => format!("{source:?} unreadable {}", identity.key.name),
        Change::Reached(version) => format!("reached {version}"),
        Change::Listed {
            present,
            version,
            history,
        } => {
            let mut names: Vec<&str> = present.iter().map(|key| &*key.name).collect();
            names.sort_unstable();
            format!("listed {} at {version}, {history:?}", names.join(" "))
        }
    }
}

fn refused(code: u16) -> Ending {
    Ending::Refused(ServerError::decode(status(code, "Reason").to_string().as_bytes()).unwrap())
}

/// The way an error event ends a stream.
fn cut(status: &Value) -> Ending {
    Frame::<Thing>::decode(event("ERROR", status).as_bytes(), &Interner::default()).unwrap_err()
}

fn soon(machine: &mut Machine, ending: &Ending) -> u128 {
    machine.ended(ending, Duration::from_secs(1), 0.0).as_millis()
}

fn resume(version: u64) -> Ask {
    Ask::Resume(ResourceVersion::new(version.to_string()))
}

/// The machine looks at the server's version and then resumes at its own.
fn assert_goes_on_after_a_look(machine: &mut Machine, version: u64) {
    assert_eq!(machine.ask(), Ask::Version);
    machine.version(&version_of_list(page(version + 3, "", &[]).as_bytes()).unwrap());
    assert_eq!(machine.ask(), resume(version));
}

/// A machine that has listed `a` at version 10.
fn live() -> Machine {
    let mut machine = Machine::default();
    lines(&mut machine, &[event("ADDED", &thing("a", "u1", 5)), initial_end(10)]);
    assert_eq!(machine.ask(), resume(10));
    machine
}

#[test]
fn a_stream_begins_with_the_whole_state_and_goes_on_live() {
    let mut machine = Machine::default();
    assert_eq!(machine.ask(), Ask::Initial);
    let found = lines(
        &mut machine,
        &[
            event("ADDED", &thing("a", "u1", 5)),
            event("ADDED", &thing("b", "u2", 3)),
            bookmark(9),
            event("DELETED", &thing("b", "u2", 11)),
            initial_end(11),
            event("MODIFIED", &thing("a", "u1", 12)),
            bookmark(15),
            event("DELETED", &thing("a", "u1", 16)),
        ],
    );
    assert_eq!(
        found,
        [
            "List a/u1@5",
            "List b/u2@3",
            "List gone b/u2",
            "listed a at 11, Same",
            "Watch a/u1@12",
            "reached 15",
            "Watch gone a/u1",
        ]
    );
    assert_eq!(machine.ask(), resume(16));
}

#[test]
fn a_server_that_refuses_streams_is_asked_for_pages_ever_after() {
    for ending in [refused(422), refused(400), cut(&status(500, "InternalError"))] {
        let mut machine = Machine::default();
        assert_eq!(soon(&mut machine, &ending), 0);
        assert_eq!(machine.ask(), Ask::Page(None));
        assert_eq!(
            take_page(&mut machine, &page(20, "next", &[thing("a", "u1", 5)])),
            ["List a/u1@5"]
        );
        assert_eq!(machine.ask(), Ask::Page(Some("next".to_owned())));
        let last = take_page(&mut machine, &page(20, "", &[thing("b", "u2", 6)]));
        assert_eq!(last, ["List b/u2@6", "listed a b at 20, Same"]);
        assert_eq!(machine.ask(), resume(20));

        soon(&mut machine, &refused(410));
        assert_eq!(machine.ask(), Ask::Page(None), "the choice is remembered");
    }
}

#[test]
fn other_refusals_do_not_lead_to_pages() {
    for ending in [refused(403), refused(500), refused(503), refused(429), Ending::Closed] {
        let mut machine = Machine::default();
        soon(&mut machine, &ending);
        assert_eq!(machine.ask(), Ask::Initial, "{ending}");
    }
    let mut machine = live();
    soon(&mut machine, &refused(400));
    assert_goes_on_after_a_look(&mut machine, 10);
}

#[test]
fn a_page_that_fails_is_asked_for_again_but_a_refused_list_starts_over() {
    for code in [410, 500] {
        page_refused_with(code);
    }
}

fn page_refused_with(code: u16) {
    let mut machine = Machine::default();
    soon(&mut machine, &refused(422));
    take_page(&mut machine, &page(20, "next", &[thing("a", "u1", 5)]));
    soon(&mut machine, &refused(503));
    assert_eq!(machine.ask(), Ask::Page(Some("next".to_owned())));
    soon(&mut machine, &refused(code));
    assert_eq!(machine.ask(), Ask::Page(None));
    let found = take_page(&mut machine, &page(30, "", &[thing("b", "u2", 6)]));
    assert_eq!(
        found,
        ["List b/u2@6", "listed b at 30, Same"],
        "what only the old list had is not present"
    );
}

#[test]
fn a_forgotten_version_means_a_fresh_list() {
    let too_large = {
        let mut status = status(504, "Timeout");
        status["details"] = json!({"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1});
        status
    };
    for ending in [refused(410), cut(&status(410, "Expired")), cut(&too_large)] {
        let mut machine = live();
        soon(&mut machine, &ending);
        assert_eq!(machine.ask(), Ask::Initial, "{ending}");
    }
    let mut machine = live();
    assert_eq!(
        soon(&mut machine, &cut(&too_large)),
        1000,
        "the server's own wish is respected"
    );
}

#[test]
fn a_dropped_stream_goes_on_after_the_last_bookmark() {
    let mut machine = live();
    lines(&mut machine, &[event("MODIFIED", &thing("a", "u1", 12)), bookmark(40)]);
    assert_eq!(soon(&mut machine, &Ending::Broken("reset".to_owned())), 800);
    assert_goes_on_after_a_look(&mut machine, 40);
}

#[test]
fn an_interrupted_initial_stream_starts_over() {
    let mut machine = Machine::default();
    lines(&mut machine, &[event("ADDED", &thing("a", "u1", 5))]);
    soon(&mut machine, &Ending::Broken("reset".to_owned()));
    assert_eq!(machine.ask(), Ask::Initial);
    let found = lines(&mut machine, &[event("ADDED", &thing("b", "u2", 6)), initial_end(20)]);
    assert_eq!(found, ["List b/u2@6", "listed b at 20, Same"]);
}

#[test]
fn an_unreadable_object_is_known_by_name_and_version_and_stops_nothing() {
    let mut machine = Machine::default();
    let found = lines(
        &mut machine,
        &[
            event("ADDED", &spoiled("bad", "u9", 7)),
            event("ADDED", &thing("a", "u1", 5)),
            initial_end(10),
            event("MODIFIED", &spoiled("bad", "u9", 12)),
        ],
    );
    assert_eq!(
        found,
        [
            "List unreadable bad",
            "List a/u1@5",
            "listed a bad at 10, Same",
            "Watch unreadable bad"
        ]
    );
    assert_eq!(machine.ask(), resume(12));
    assert_eq!(
        lines(&mut machine, &[event("DELETED", &spoiled("bad", "u9", 13))]),
        ["Watch gone bad/u9"]
    );

    let in_list =
        Page::<Thing>::decode(page(3, "", &[spoiled("bad", "u9", 2)]).as_bytes(), &Interner::default()).unwrap();
    assert_eq!(in_list.items[0].key(), &key("bad"));
}

#[test]
fn of_an_unreadable_object_its_controller_is_known_where_that_can_be_read() {
    let reference = |uid: &str, controller: bool| json!({"kind": "Owner", "uid": uid, "controller": controller});
    for (owners, expected) in [
        (json!([reference("o0", false), reference("o1", true)]), 1),
        (json!([reference("o1", false)]), 0),
        (json!([{"uid": "o1"}]), 0),
        (json!("nobody"), 0),
        (json!(null), 0),
    ] {
        let mut object = spoiled("bad", "u9", 7);
        object["metadata"]["ownerReferences"] = owners.clone();
        let mut machine = Machine::default();
        let store = Store::<Thing>::default();
        let frame = Frame::decode(event("ADDED", &object).as_bytes(), &Interner::default()).unwrap();
        machine.frame(frame).unwrap().apply_to(&store);
        assert_eq!(store.unread_of(&Uid::new("o1")), expected, "{owners}");
    }
}

#[test]
fn a_line_that_is_no_event_ends_the_stream() {
    for line in [
        "{",
        "{}",
        r#"{"type":"NEWS","object":{}}"#,
        r#"{"type":"ADDED","object":{"metadata":{}}}"#,
    ] {
        let ending = Frame::<Thing>::decode(line.as_bytes(), &Interner::default()).unwrap_err();
        assert!(matches!(ending, Ending::Broken(_)), "{line}");
    }
}

#[test]
fn a_silent_stream_is_followed_by_a_look_at_the_servers_version() {
    let mut machine = live();
    machine.ended(&Ending::Closed, 5 * MINUTE, 0.0);
    assert_eq!(machine.ask(), resume(10));
    assert_eq!(machine.ended(&Ending::Closed, 5 * MINUTE, 0.0), Duration::ZERO);
    assert_goes_on_after_a_look(&mut machine, 10);

    lines(&mut machine, &[bookmark(11)]);
    machine.ended(&Ending::Closed, 5 * MINUTE, 0.0);
    assert_eq!(machine.ask(), resume(11), "a stream that said something is not doubted");
}

// proves: deployment/C-33
#[test]
fn a_server_restored_from_a_backup_is_listed_anew_and_reported() {
    let mut machine = live();
    soon(&mut machine, &Ending::Broken("reset".to_owned()));
    assert_eq!(machine.ask(), Ask::Version);
    machine.version(&ResourceVersion::new("9"));
    assert_eq!(machine.ask(), Ask::Initial);
    let found = lines(&mut machine, &[event("ADDED", &thing("a", "u1", 4)), initial_end(9)]);
    assert_eq!(found, ["List a/u1@4", "listed a at 9, Another"]);
    assert_eq!(machine.ask(), resume(9));
    soon(&mut machine, &refused(410));
    assert_eq!(lines(&mut machine, &[initial_end(9)]), ["listed  at 9, Same"]);
}

#[test]
fn a_machine_doubts_until_a_watch_goes_on_or_a_list_is_complete() {
    let mut machine = Machine::default();
    soon(&mut machine, &Ending::Broken("reset".to_owned()));
    assert!(!machine.is_doubtful(), "it shows nothing yet");

    let mut machine = live();
    machine.ended(&Ending::Closed, 5 * MINUTE, 0.0);
    assert!(!machine.is_doubtful());
    soon(&mut machine, &Ending::Broken("reset".to_owned()));
    machine.settle();
    assert!(machine.is_doubtful(), "the server has not been asked yet");
    assert_goes_on_after_a_look(&mut machine, 10);
    assert!(machine.is_doubtful(), "that version may be one of another history");
    machine.settle();
    assert!(!machine.is_doubtful());

    soon(&mut machine, &refused(410));
    assert!(machine.is_doubtful());
    lines(&mut machine, &[event("ADDED", &thing("b", "u2", 11))]);
    assert!(machine.is_doubtful(), "the store may show something of both");
    lines(&mut machine, &[initial_end(12)]);
    assert!(!machine.is_doubtful());
}

#[test]
fn each_watch_backs_off_alone_and_calms_down_after_a_healthy_minute() {
    let mut forbidden = Machine::default();
    let waits: Vec<u128> = (0..4).map(|_| soon(&mut forbidden, &refused(403))).collect();
    assert_eq!(waits, [800, 1600, 3200, 6400]);
    let mut other = live();
    assert_eq!(soon(&mut other, &Ending::Closed), 0);
    assert_eq!(forbidden.ended(&refused(403), MINUTE, 0.0), Duration::from_millis(800));
}
