//! The task that turns notes into events.

use std::time::Duration;

use tokio::time;
use tokio_util::sync::CancellationToken;

use crate::chance::Chance;
use crate::events::recorder::{EventMetrics, Feed, Said};
use crate::events::series::{Entry, Series};
use crate::events::sink::{Refusal, Sink};
use crate::run::spawn::{self, Task};
use crate::time::SharedClock;

/// How often an event is tried while the server cannot be reached.
const TRIES: u32 = 12;
/// Wait between two tries; the first wait is a random part of it.
const PAUSE: Duration = Duration::from_secs(10);

/// How long the last event may take that was begun in time.
const LAST: Duration = Duration::from_secs(1);

/// A running scribe. Dropping it loses what it has not written yet.
#[derive(Debug)]
pub struct Scribe {
    stop: CancellationToken,
    give_up: CancellationToken,
    task: Task<()>,
}

/// How a scribe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// No event is on its way any more.
    Clean,
    /// It was cut off: an event may still arrive.
    CutOff,
}

impl Scribe {
    /// Writes what comes out of `feed` into `sink`, one event at a time.
    pub fn start<S: Sink>(feed: Feed, sink: S, clock: SharedClock, chance: Chance, metrics: &EventMetrics) -> Self {
        let (stop, give_up) = (CancellationToken::new(), CancellationToken::new());
        let pen = Pen {
            series: Series::default(),
            sink,
            clock,
            chance,
            metrics: metrics.clone(),
            stopped: stop.clone(),
            given_up: give_up.clone(),
        };
        let task = spawn::spawn("events", pen.write_all(feed));
        Self { stop, give_up, task }
    }

    /// Writes what is waiting, each event tried once more at most, and ends. None is begun after `grace`; the last one may
    /// take a second longer, then it is cut off.
    pub async fn finish(mut self, grace: Duration) -> Finish {
        self.stop.cancel();
        if time::timeout(grace, &mut self.task).await.is_ok() {
            return Finish::Clean;
        }
        tracing::warn!("events were left unwritten at the end");
        self.give_up.cancel();
        match time::timeout(LAST, &mut self.task).await {
            Ok(_) => Finish::Clean,
            Err(_) => Finish::CutOff,
        }
    }
}

struct Pen<S> {
    series: Series,
    sink: S,
    clock: SharedClock,
    chance: Chance,
    metrics: EventMetrics,
    stopped: CancellationToken,
    given_up: CancellationToken,
}

impl<S: Sink> Pen<S> {
    async fn write_all(mut self, mut feed: Feed) {
        let stopped = self.stopped.clone();
        loop {
            tokio::select! {
                biased;
                () = stopped.cancelled() => break,
                said = feed.next() => match said {
                    Some(said) => self.write(said).await,
                    None => return,
                },
            }
        }
        while let Some(said) = feed.try_next().filter(|_| !self.given_up.is_cancelled()) {
            self.write(said).await;
        }
    }

    async fn write(&mut self, said: Said) {
        let Ok(entry) = self.series.correlate(said, self.clock.instant(), self.chance.number()) else {
            self.metrics.limited.inc();
            return;
        };
        match self.store(&entry).await {
            Ok(()) => {}
            Err(moot @ (Refusal::NamespaceEnding | Refusal::Missing)) => {
                tracing::debug!(object = %entry.about.key, reason = %entry.reason, error = %moot, "no place for an event");
            }
            Err(refusal) => {
                self.metrics.failed.inc();
                tracing::warn!(object = %entry.about.key, reason = %entry.reason, error = %refusal, "failed to write an event");
            }
        }
    }

    /// Tries until the server has answered, for about two minutes. An event that exists once its first answer was lost is
    /// this one.
    async fn store(&mut self, entry: &Entry) -> Result<(), Refusal> {
        let mut tries = 1;
        loop {
            let refusal = match self.store_once(entry).await {
                Err(refusal @ Refusal::Unreachable(_)) => refusal,
                Err(Refusal::Exists) if tries > 1 => return Ok(()),
                answered => return answered,
            };
            if tries >= TRIES || self.stopped.is_cancelled() {
                return Err(refusal);
            }
            let pause = if tries == 1 {
                PAUSE.mul_f64(self.chance.fraction())
            } else {
                PAUSE
            };
            let _stopped = time::timeout(pause, self.stopped.cancelled()).await;
            tries += 1;
        }
    }

    async fn store_once(&self, entry: &Entry) -> Result<(), Refusal> {
        if entry.count > 1 {
            match self.sink.repeat(entry).await {
                // Events live for an hour on the server; a longer series goes on in a new one.
                Err(Refusal::Missing) => {}
                answered => return answered,
            }
        }
        self.sink.create(entry).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::recorder::{CAPACITY, Recorder, recorder};
    use crate::id::{Kind, ObjectKey, ResourceVersion, Uid};
    use crate::metrics::Metrics;
    use crate::plan::{Note, Target};
    use crate::time::SystemClock;
    use parking_lot::Mutex;
    use std::collections::VecDeque;
    use std::sync::Arc;
    use tokio::sync::mpsc;

    /// Reports each call and answers it from a script, `Ok` when that has run out.
    #[derive(Clone, Debug)]
    struct Scripted {
        calls: mpsc::UnboundedSender<String>,
        answers: Arc<Mutex<VecDeque<Result<(), Refusal>>>>,
        takes: Duration,
    }

    impl Scripted {
        async fn answer(&self, verb: &str, entry: &Entry) -> Result<(), Refusal> {
            self.calls
                .send(format!("{verb} {} x{}", entry.message, entry.count))
                .unwrap();
            if !self.takes.is_zero() {
                time::sleep(self.takes).await;
            }
            self.answers.lock().pop_front().unwrap_or(Ok(()))
        }
    }

    impl Sink for Scripted {
        async fn create(&self, entry: &Entry) -> Result<(), Refusal> {
            self.answer("create", entry).await
        }

        async fn repeat(&self, entry: &Entry) -> Result<(), Refusal> {
            self.answer("repeat", entry).await
        }
    }

    struct Bench {
        recorder: Recorder,
        scribe: Scribe,
        calls: mpsc::UnboundedReceiver<String>,
        metrics: Metrics,
    }

    fn bench(answers: impl IntoIterator<Item = Result<(), Refusal>>) -> Bench {
        slow_bench(Duration::ZERO, answers)
    }

    fn slow_bench(takes: Duration, answers: impl IntoIterator<Item = Result<(), Refusal>>) -> Bench {
        let metrics = Metrics::default();
        let event_metrics = metrics.register(EventMetrics::register);
        let (recorder, feed) = recorder(Arc::new(SystemClock), &event_metrics);
        let (sender, calls) = mpsc::unbounded_channel();
        let sink = Scripted {
            calls: sender,
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            takes,
        };
        Bench {
            recorder,
            scribe: Scribe::start(feed, sink, Arc::new(SystemClock), Chance::system(), &event_metrics),
            calls,
            metrics,
        }
    }

    impl Bench {
        fn say(&self, object: &str, message: &str) {
            let about = Target {
                kind: Kind::DEPLOYMENT,
                key: ObjectKey::new("shop", object),
                uid: Uid::new(object),
                version: ResourceVersion::new("7"),
            };
            self.recorder.say(&about, Note::normal("ScalingReplicaSet", message));
        }

        async fn calls(&mut self, count: usize) -> Vec<String> {
            let mut calls = Vec::new();
            for _ in 0..count {
                calls.push(
                    time::timeout(Duration::from_hours(1), self.calls.recv())
                        .await
                        .unwrap()
                        .unwrap(),
                );
            }
            calls
        }

        fn exports(&self, line: &str) -> bool {
            self.metrics.text().unwrap().lines().any(|known| known == line)
        }
    }

    fn unreachable() -> Result<(), Refusal> {
        Err(Refusal::Unreachable("no route".to_owned()))
    }

    // proves: deployment/C-75
    #[tokio::test(start_paused = true)]
    async fn a_repeated_note_is_patched_and_created_anew_if_its_event_is_gone() {
        let mut bench = bench([Ok(()), Ok(()), Err(Refusal::Missing), Ok(())]);
        for _ in 0..3 {
            bench.say("web", "scaled");
        }
        let calls = bench.calls(4).await;
        assert_eq!(
            calls,
            [
                "create scaled x1",
                "repeat scaled x2",
                "repeat scaled x3",
                "create scaled x3"
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_unreachable_server_is_tried_again_and_a_refusal_is_not() {
        let mut bench = bench([
            unreachable(),
            unreachable(),
            Ok(()),
            Err(Refusal::Rejected("no".to_owned())),
        ]);
        bench.say("web", "a");
        bench.say("web", "b");
        bench.say("web", "c");
        let calls = bench.calls(5).await;
        assert_eq!(
            calls,
            [
                "create a x1",
                "create a x1",
                "create a x1",
                "create b x1",
                "create c x1"
            ]
        );
        assert!(bench.exports("events_failed_total 1"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_was_stored_although_its_answer_was_lost_has_not_failed() {
        let mut bench = bench([unreachable(), Err(Refusal::Exists), Err(Refusal::Exists)]);
        bench.say("web", "a");
        bench.say("web", "b");
        bench.say("web", "c");
        bench.calls(4).await;
        assert!(bench.exports("events_failed_total 1"), "only the one of another");
    }

    // proves: deployment/C-75
    #[tokio::test(start_paused = true)]
    async fn a_full_queue_drops_notes_and_never_waits() {
        let bench = bench(std::iter::repeat_n(unreachable(), 100));
        for n in 0..CAPACITY + 5 {
            bench.say(&n.to_string(), "a");
        }
        assert!(bench.exports("events_overflowed_total 5"));
    }

    // proves: deployment/C-75
    #[tokio::test(start_paused = true)]
    async fn a_note_over_the_budget_of_its_object_is_counted_and_not_written() {
        let mut bench = bench([]);
        for _ in 0..26 {
            bench.say("web", "a");
        }
        bench.say("other", "z");
        assert_eq!(bench.calls(26).await.pop().as_deref(), Some("create z x1"));
        assert!(bench.exports("events_limited_total 1"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_at_the_end_is_still_written() {
        let mut bench = bench([unreachable(), unreachable(), Ok(())]);
        bench.say("web", "a");
        assert_eq!(bench.calls(1).await, ["create a x1"]);
        bench.say("web", "b");
        assert_eq!(bench.scribe.finish(Duration::from_secs(5)).await, Finish::Clean);
        let mut calls = Vec::new();
        while let Ok(call) = bench.calls.try_recv() {
            calls.push(call);
        }
        assert_eq!(
            calls,
            ["create a x1", "create b x1"],
            "each once more, without further waits"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_end_no_event_is_begun_after_the_grace_and_one_that_is_cut_off_is_not_passed_over() {
        for (takes, begun, expected) in [(800, 3, Finish::Clean), (30_000, 1, Finish::CutOff)] {
            let mut bench = slow_bench(Duration::from_millis(takes), []);
            for n in 0..100 {
                bench.say(&n.to_string(), "a");
            }
            bench.calls(1).await;
            assert_eq!(bench.scribe.finish(Duration::from_secs(2)).await, expected);
            let mut calls = 1;
            while bench.calls.try_recv().is_ok() {
                calls += 1;
            }
            assert_eq!(calls, begun);
        }
    }
}
