//! Whole processes over a small server, on paused time: what happens in which order.

mod server;
mod toy;

use std::sync::Arc;
use std::time::Duration;

use clap::{Args as _, Command, FromArgMatches as _};
use tokio::sync::mpsc;
use tokio::time;

use self::server::Server;
use super::signals::Stops;
use super::spawn::{Task, spawn};
use super::{Ended, Parts, Process, Program, RunArgs};
use crate::chance::Chance;
use crate::metrics::Metrics;
use crate::run::admin::Health;
use crate::time::{Clock, SystemClock};

impl Stops for mpsc::Receiver<()> {
    async fn next(&mut self) {
        self.recv().await.unwrap();
    }
}

struct Running {
    stop: mpsc::Sender<()>,
    health: Arc<dyn Health>,
    task: Task<Result<(), Ended>>,
}

fn start(server: &Server, who: &str, flags: &[&str]) -> Running {
    let words = ["toy-controller"].iter().chain(flags);
    let matches = RunArgs::augment_args(Command::new("toy-controller")).get_matches_from(words);
    let parts = Parts {
        program: Program {
            name: "toy-controller",
            version: "1",
        },
        args: RunArgs::from_arg_matches(&matches).unwrap(),
        work: server.client(who),
        election: server.client(who),
        clock: Arc::new(SystemClock),
        chance: Chance::system(),
        host: who.to_owned(),
        metrics: Metrics::default(),
    };
    let process = Process::assemble(parts, toy::install);
    let (stop, mut stops) = mpsc::channel(2);
    Running {
        stop,
        health: process.health(),
        task: spawn("process", async move { process.run(&mut stops).await }),
    }
}

impl Running {
    fn ask_to_stop(&self) {
        self.stop.try_send(()).unwrap();
    }

    async fn end(self) -> Result<(), Ended> {
        time::timeout(Duration::from_mins(10), self.task)
            .await
            .expect("it never ended")
            .unwrap()
    }
}

async fn seconds_until<T>(event: impl Future<Output = T>) -> (f64, T) {
    let start = SystemClock.instant();
    let output = event.await;
    ((SystemClock.instant() - start).as_secs_f64(), output)
}

// proves: deployment/C-1, deployment/I-3
#[tokio::test(start_paused = true)]
async fn a_process_fills_its_caches_leads_looks_again_and_only_then_acts() {
    let server = Server::new();
    let process = start(&server, "a", &[]);
    assert_eq!(process.health.missing(), ["cache of Pod is not synced"]);
    server.seen("a says", 0).await;
    assert_eq!(server.log(), ["a lists", "a leads", "a lists", "a writes", "a says"]);
    assert!(process.health.missing().is_empty());
}

// proves: deployment/C-1, job/J-3
#[tokio::test(start_paused = true)]
async fn nothing_is_done_while_a_cache_is_empty() {
    let server = Server::new();
    server.break_by(|faults| faults.no_lists = true);
    let process = start(&server, "a", &["--leader-elect=false"]);
    time::sleep(Duration::from_hours(1)).await;
    assert!(server.log().iter().all(|line| line == "a lists"), "{:?}", server.log());
    assert_eq!(process.health.missing(), ["cache of Pod is not synced"]);
    server.break_by(|faults| faults.no_lists = false);
    server.seen("a writes", 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_turns_end_writes_events_and_gives_the_lease_back_last() {
    let server = Server::new();
    server.break_by(|faults| faults.slow_writes = Duration::from_secs(5));
    let process = start(&server, "a", &[]);
    server.seen("a writes", 0).await;
    process.ask_to_stop();
    let (seconds, ended) = seconds_until(process.end()).await;
    assert_eq!(ended, Ok(()));
    assert!((4.9..5.5).contains(&seconds), "after {seconds} s");
    assert_eq!(server.log()[3..], ["a writes", "a says", "a resigns"]);
}

// proves: deployment/I-4
#[tokio::test(start_paused = true)]
async fn a_lease_is_not_given_back_while_a_write_may_still_be_on_its_way() {
    for what in ["a writes", "a says"] {
        let server = Server::new();
        server.break_by(|faults| match what {
            "a says" => faults.slow_events = Duration::from_mins(5),
            _ => faults.slow_writes = Duration::from_mins(5),
        });
        let process = start(&server, "a", &[]);
        server.seen(what, 0).await;
        process.ask_to_stop();
        let (seconds, ended) = seconds_until(process.end()).await;
        assert_eq!(ended, Ok(()));
        assert!(seconds < 20.0, "after {seconds} s");
        assert!(!server.log().contains(&"a resigns".to_owned()), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_request_to_stop_ends_it_at_once() {
    let server = Server::new();
    server.break_by(|faults| faults.slow_writes = Duration::from_mins(5));
    let process = start(&server, "a", &[]);
    server.seen("a writes", 0).await;
    process.ask_to_stop();
    process.ask_to_stop();
    assert_eq!(seconds_until(process.end()).await, (0.0, Err(Ended::Hurried)));
}

// proves: deployment/I-4
#[tokio::test(start_paused = true)]
async fn a_process_that_loses_its_lease_ends() {
    for caches_are_filled in [true, false] {
        let server = Server::new();
        let process = start(&server, "a", &[]);
        if caches_are_filled {
            server.seen("a writes", 0).await;
        } else {
            server.seen("a lists", 0).await;
            server.break_by(|faults| faults.no_lists = true);
            server.seen("a leads", 0).await;
        }
        server.break_by(|faults| faults.no_election = true);
        let (seconds, ended) = seconds_until(process.end()).await;
        assert!(
            matches!(&ended, Err(Ended::LeaseLost(why)) if why.contains("renewed")),
            "{ended:?}"
        );
        assert!(seconds <= 10.0, "after {seconds} s");
    }
}

// proves: deployment/I-4
#[tokio::test(start_paused = true)]
async fn a_standby_is_ready_and_takes_over_from_whoever_stops_or_is_killed() {
    for (killed, within) in [(false, 3.0), (true, 20.0)] {
        let server = Server::new();
        let first = start(&server, "a", &[]);
        server.seen("a writes", 0).await;
        let second = start(&server, "b", &[]);
        time::sleep(Duration::from_mins(2)).await;
        assert!(second.health.missing().is_empty(), "a standby's caches are warm");
        assert!(!server.log().contains(&"b writes".to_owned()));
        if killed {
            drop(first);
        } else {
            first.ask_to_stop();
            assert_eq!(first.end().await, Ok(()));
        }
        let (seconds, _) = seconds_until(server.seen("b writes", 0)).await;
        assert!(seconds <= within, "after {seconds} s, killed: {killed}");
        let log = server.log();
        let taken_over = log.iter().position(|line| line == "b leads").unwrap();
        assert!(log[taken_over..].iter().all(|line| line.starts_with('b')), "{log:?}");
    }
}

// proves: deployment/C-6
#[tokio::test(start_paused = true)]
async fn every_object_has_a_turn_between_twelve_and_twenty_four_hours_after_the_last_resync() {
    let server = Server::new();
    let _process = start(&server, "a", &["--leader-elect=false"]);
    let first = server.seen("a writes", 0).await;
    let (second, third) = (server.seen("a writes", 1).await, server.seen("a writes", 2).await);
    for gap in [second - first, third - second] {
        let hours = gap.as_secs_f64() / 3600.0;
        assert!((12.0..=24.01).contains(&hours), "after {hours} h");
    }
}

// proves: deployment/I-11
#[tokio::test(start_paused = true)]
async fn everything_is_written_as_one_field_manager_and_never_applied() {
    for (flags, manager) in [
        (&[][..], "toy-controller"),
        (
            &["--field-manager", "kube-controller-manager"][..],
            "kube-controller-manager",
        ),
    ] {
        let server = Server::new();
        let process = start(&server, "a", flags);
        server.seen("a says", 0).await;
        process.ask_to_stop();
        assert_eq!(process.end().await, Ok(()));
        let writes = server.writes();
        for part in ["/leases", "/pods/a", "/events"] {
            assert!(writes.iter().any(|write| write.uri.contains(part)), "{writes:?}");
        }
        for write in writes {
            assert!(write.uri.ends_with(&format!("fieldManager={manager}")), "{write:?}");
            assert!(!write.content_type.contains("apply"), "{write:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restore_no_turn_begins_before_those_under_way_have_ended_and_the_caches_have_listed() {
    let server = Server::new();
    server.break_by(|faults| faults.slow_writes = Duration::from_secs(20));
    let _process = start(&server, "a", &["--leader-elect=false"]);
    let begun = server.seen("a writes", 0).await;
    server.restore(5);
    // The cache that notices it lists by itself.
    assert!(server.seen("a lists", 1).await < begun + Duration::from_secs(20));
    let listed = server.seen("a lists", 2).await;
    assert!(
        listed >= begun + Duration::from_secs(20),
        "that list may lack the write"
    );
    assert!(server.seen("a writes", 1).await >= listed);
    let log: Vec<String> = server.log().into_iter().filter(|line| line != "a says").collect();
    assert_eq!(log, ["a lists", "a writes", "a lists", "a lists", "a writes"]);
}

// proves: deployment/I-3
#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_it_is_not_known_whether_the_server_is_the_one_of_before() {
    for (back_at, lists) in [(7, 1), (5, 2)] {
        let server = Server::new();
        let _process = start(&server, "a", &["--leader-elect=false"]);
        server.seen("a writes", 0).await;
        server.break_by(|faults| faults.no_versions = true);
        server.restore(back_at);
        // Longer than the longest time until every object gets a turn.
        time::sleep(Duration::from_hours(25)).await;
        assert_eq!(server.log(), ["a lists", "a writes", "a says"]);
        server.break_by(|faults| faults.no_versions = false);
        server.seen("a writes", 1).await;
        let listed = server.log().iter().filter(|line| *line == "a lists").count();
        assert_eq!(listed, lists, "{:?}", server.log());
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_takes_over_after_a_restore_acts_on_lists_of_one_history() {
    for noticed_before in [true, false] {
        let server = Server::new();
        let first = start(&server, "a", &[]);
        server.seen("a writes", 0).await;
        let standby = start(&server, "b", &[]);
        time::sleep(Duration::from_mins(2)).await;
        if noticed_before {
            server.restore(5);
            server.seen("b lists", 1).await;
            time::sleep(Duration::from_mins(2)).await;
            drop(first);
        } else {
            drop(first);
            server.restore_unseen(5);
        }
        server.seen("b writes", 0).await;
        time::sleep(Duration::from_mins(1)).await;
        let log = server.log();
        let leads = log.iter().position(|line| line == "b leads").unwrap();
        let expected = if noticed_before {
            // What it noticed as a standby is in its first list.
            &["b leads", "b lists", "b writes", "b says"][..]
        } else {
            // Its first list shows another history than before; those of other kinds may have been earlier.
            &["b leads", "b lists", "b lists", "b writes", "b says"][..]
        };
        assert_eq!(log[leads..], *expected);
        drop(standby);
    }
}
