//! The workers: a fixed number of tasks that take keys from a queue and give each its turn.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures::future;

use crate::queue::{Queue, Turn};
use crate::run::spawn::{self, Task};

/// Running workers. Dropping them cuts their turns off.
#[derive(Debug)]
pub struct Workers {
    queue: Queue,
    tasks: Vec<Task<()>>,
}

/// How stopping went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Every turn has ended.
    Clean,
    /// This many turns did not end in time.
    Unfinished(usize),
}

impl Workers {
    /// Starts `number` workers on `queue`; they find nothing to do until it is open.
    pub fn start(queue: &Queue, number: NonZeroUsize, turn: &Arc<dyn Turn>) -> Self {
        let worker = || spawn::spawn("worker", work(queue.clone(), Arc::clone(turn)));
        Self {
            queue: queue.clone(),
            tasks: std::iter::repeat_with(worker).take(number.get()).collect(),
        }
    }

    /// Takes no more keys and waits until the running turns have ended, at most `grace`. Those that have not are cut off
    /// when the workers are dropped.
    pub async fn stop(&mut self, grace: Duration) -> Stopped {
        self.queue.close();
        let ended = tokio::time::timeout(grace, future::join_all(&mut self.tasks)).await;
        if ended.is_ok() {
            return Stopped::Clean;
        }
        Stopped::Unfinished(self.tasks.iter().filter(|task| !task.is_finished()).count())
    }
}

async fn work(queue: Queue, turn: Arc<dyn Turn>) {
    while let Some(key) = queue.next().await {
        match spawn::caught(async { turn.turn(key.clone()).await }).await {
            Ok(verdict) => queue.finish(&key, verdict),
            Err(panic) => {
                tracing::error!(queue = queue.name(), object = %key, panic, "a turn panicked");
                queue.finish_panicked(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ObjectKey;
    use crate::metrics::Metrics;
    use crate::outcome::Retry;
    use crate::plan::Wake;
    use crate::queue::metrics::QueueMetrics;
    use crate::queue::{Priority, Verdict};
    use crate::time::{Clock, SystemClock};
    use crate::workload::RetryLimit;
    use futures::FutureExt;
    use futures::future::BoxFuture;
    use parking_lot::Mutex;
    use std::time::Instant;
    use tokio::sync::mpsc;

    type Play = dyn Fn(&str) -> BoxFuture<'static, Verdict> + Send + Sync;

    /// Reports the beginning of each turn and does what the test says.
    struct Scripted {
        began: mpsc::UnboundedSender<(String, Instant)>,
        running: Mutex<Vec<String>>,
        play: Box<Play>,
    }

    impl Turn for Scripted {
        fn turn(&self, key: ObjectKey) -> BoxFuture<'_, Verdict> {
            async move {
                let name = key.name.to_string();
                assert!(
                    !self.running.lock().contains(&name),
                    "{name} is worked on twice at once"
                );
                self.running.lock().push(name.clone());
                self.began.send((name.clone(), SystemClock.instant())).unwrap();
                let verdict = spawn::caught((self.play)(&name)).await;
                self.running.lock().retain(|running| *running != name);
                verdict.unwrap_or_else(|panic| panic!("{panic}"))
            }
            .boxed()
        }
    }

    struct Bench {
        queue: Queue,
        workers: Workers,
        began: mpsc::UnboundedReceiver<(String, Instant)>,
        metrics: Metrics,
        start: Instant,
    }

    fn bench(workers: usize, play: impl Fn(&str) -> BoxFuture<'static, Verdict> + Send + Sync + 'static) -> Bench {
        bench_of(RetryLimit::Times(2), workers, play)
    }

    fn bench_of(
        retries: RetryLimit,
        workers: usize,
        play: impl Fn(&str) -> BoxFuture<'static, Verdict> + Send + Sync + 'static,
    ) -> Bench {
        let metrics = Metrics::default();
        let queues = metrics.register(QueueMetrics::register);
        let queue = Queue::new("test", retries, Arc::new(SystemClock), &queues);
        let (sender, began) = mpsc::unbounded_channel();
        let turn: Arc<dyn Turn> = Arc::new(Scripted {
            began: sender,
            running: Mutex::default(),
            play: Box::new(play),
        });
        Bench {
            workers: Workers::start(&queue, NonZeroUsize::new(workers).unwrap(), &turn),
            queue,
            began,
            metrics,
            start: SystemClock.instant(),
        }
    }

    impl Bench {
        fn add(&self, name: &str) {
            self.queue.add(ObjectKey::new("ns", name), Priority::Live);
        }

        /// The next `count` turns with the milliseconds at which they began.
        async fn turns(&mut self, count: usize) -> Vec<(String, u128)> {
            let mut turns = Vec::new();
            for _ in 0..count {
                let (name, at) = self.began.recv().await.unwrap();
                turns.push((name, (at - self.start).as_millis()));
            }
            turns
        }

        #[track_caller]
        fn check_metric(&self, line: &str, expected: u32) {
            let text = self.metrics.text().unwrap();
            let found = text.lines().find_map(|known| known.strip_prefix(line)).map(str::trim);
            let value: f64 = found.unwrap_or_else(|| panic!("no {line} in\n{text}")).parse().unwrap();
            assert!(
                (value - f64::from(expected)).abs() < 1e-6,
                "{line} is {value}, not {expected}"
            );
        }
    }

    fn after(wait: Duration, verdict: Verdict) -> BoxFuture<'static, Verdict> {
        async move {
            tokio::time::sleep(wait).await;
            verdict
        }
        .boxed()
    }

    const DONE: Verdict = Verdict::Done(Wake::OnChange);

    // proves: deployment/C-2
    #[tokio::test(start_paused = true)]
    async fn a_key_added_during_its_turn_has_one_more_turn_afterwards() {
        let mut bench = bench(3, |_| after(Duration::from_secs(1), DONE));
        bench.queue.open();
        bench.add("a");
        assert_eq!(bench.turns(1).await, [("a".to_owned(), 0)]);
        bench.add("a");
        bench.add("a");
        bench.add("b");
        assert_eq!(bench.turns(2).await, [("b".to_owned(), 0), ("a".to_owned(), 1000)]);
        assert_eq!(bench.workers.stop(Duration::from_mins(1)).await, Stopped::Clean);
        assert!(bench.began.try_recv().is_err(), "no third turn");
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_queue_takes_nothing_and_a_held_one_only_gathers() {
        let mut bench = bench(2, |_| after(Duration::ZERO, DONE));
        bench.add("a");
        bench.queue.add_after(ObjectKey::new("ns", "b"), Duration::from_secs(1));
        bench.check_metric("workqueue_depth{name=\"test\"}", 0);
        bench.queue.open();
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(bench.began.try_recv().is_err());
        bench.add("c");
        let names: Vec<String> = bench.turns(1).await.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["c"]);
        bench.queue.hold();
        bench.add("d");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(bench.began.try_recv().is_err(), "held, not lost");
        bench.queue.open();
        assert_eq!(bench.turns(1).await[0].0, "d");
    }

    #[tokio::test(start_paused = true)]
    async fn a_held_queue_is_at_rest_when_the_turns_under_way_have_ended() {
        let mut bench = bench(2, |name| {
            after(Duration::from_secs(if name == "slow" { 5 } else { 1 }), DONE)
        });
        bench.queue.at_rest().await;
        bench.queue.open();
        for name in ["slow", "fast", "late"] {
            bench.add(name);
        }
        bench.turns(2).await;
        bench.queue.hold();
        bench.queue.at_rest().await;
        assert_eq!((SystemClock.instant() - bench.start).as_secs(), 5);
        assert!(bench.began.try_recv().is_err(), "late is not begun");
    }

    // proves: deployment/C-3, deployment/C-4
    #[tokio::test(start_paused = true)]
    async fn a_failing_key_comes_back_with_its_back_off_until_its_retries_are_used_up() {
        let mut bench = bench(1, |_| {
            after(Duration::ZERO, Verdict::Retry(Retry::Backoff, Wake::OnChange))
        });
        bench.queue.open();
        bench.add("a");
        let turns: Vec<u128> = bench.turns(3).await.into_iter().map(|(_, at)| at).collect();
        assert_eq!(turns, [0, 5, 15]);
        tokio::time::advance(Duration::from_hours(1)).await;
        assert!(bench.began.try_recv().is_err(), "left alone");
        bench.add("a");
        assert_eq!(bench.turns(2).await.len(), 2, "until it changes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wake_brings_the_key_back_when_it_said() {
        let wake = Verdict::Done(Wake::After(Duration::from_secs(10)));
        let mut bench = bench(1, move |_| after(Duration::ZERO, wake));
        bench.queue.open();
        bench.add("a");
        let turns: Vec<u128> = bench.turns(3).await.into_iter().map(|(_, at)| at).collect();
        assert_eq!(turns, [0, 10_000, 20_000]);
    }

    // proves: deployment/C-4, deployment/D-76
    #[tokio::test(start_paused = true)]
    async fn a_deadline_is_kept_although_the_retries_are_used_up() {
        let deadline = Wake::After(Duration::from_mins(1));
        let mut bench = bench(1, move |_| {
            after(Duration::ZERO, Verdict::Retry(Retry::Backoff, deadline))
        });
        bench.queue.open();
        bench.add("a");
        let turns: Vec<u128> = bench.turns(4).await.into_iter().map(|(_, at)| at).collect();
        assert_eq!(turns, [0, 5, 15, 60_015]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_turn_that_wants_to_go_on_at_once_waits_as_long_as_the_server_wants() {
        let wait = Retry::NotBefore(Duration::from_secs(5));
        let mut bench = bench(1, move |_| {
            after(Duration::ZERO, Verdict::Retry(wait, Wake::After(Duration::ZERO)))
        });
        bench.queue.open();
        bench.add("a");
        let turns: Vec<u128> = bench.turns(3).await.into_iter().map(|(_, at)| at).collect();
        assert_eq!(turns, [0, 5000, 10_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_key_is_not_looked_at_more_than_once_a_second_for_its_own_reasons() {
        let mut bench = bench_of(RetryLimit::Unlimited, 1, |_| {
            after(
                Duration::ZERO,
                Verdict::Retry(Retry::Backoff, Wake::After(Duration::ZERO)),
            )
        });
        bench.queue.open();
        bench.add("a");
        let turns: Vec<u128> = bench.turns(20).await.into_iter().map(|(_, at)| at).collect();
        let waits: Vec<u128> = turns.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(waits[..9], [5, 10, 20, 40, 80, 160, 320, 640, 1000]);
        // Attempts that its own reasons caused do not raise its back-off, which ends in between.
        let calm = waits[9..].iter().sum::<u128>();
        assert!((6500..=10_000).contains(&calm), "{waits:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_no_clock_can_count_is_only_long() {
        for verdict in [Verdict::Done as fn(Wake) -> Verdict, |wake| {
            Verdict::Retry(Retry::OnChange, wake)
        }] {
            let mut bench = bench(1, move |_| after(Duration::ZERO, verdict(Wake::After(Duration::MAX))));
            bench.queue.open();
            bench.add("a");
            bench.turns(1).await;
            bench.queue.add_after(ObjectKey::new("ns", "b"), Duration::MAX);
            tokio::time::advance(Duration::from_hours(1)).await;
            assert!(bench.began.try_recv().is_err());
            bench.add("a");
            bench.turns(1).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_in_one_key_is_counted_and_retried_while_others_go_on() {
        let mut bench = bench(1, |name| {
            let bad = name == "bad";
            async move {
                assert!(!bad, "bad luck");
                DONE
            }
            .boxed()
        });
        bench.queue.open();
        bench.add("bad");
        bench.add("good");
        let names: Vec<String> = bench.turns(4).await.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["bad", "good", "bad", "bad"]);
        bench.workers.stop(Duration::from_secs(1)).await;
        bench.check_metric("reconcile_panics_total{name=\"test\"}", 3);
    }

    #[tokio::test(start_paused = true)]
    async fn stopping_waits_for_running_turns_no_longer_than_the_grace() {
        for (grace, expected) in [(5, Stopped::Unfinished(1)), (60, Stopped::Clean)] {
            let mut bench = bench(2, |name| {
                let seconds = if name == "slow" { 30 } else { 1 };
                after(Duration::from_secs(seconds), DONE)
            });
            bench.queue.open();
            for name in ["slow", "fast", "late"] {
                bench.add(name);
            }
            bench.turns(2).await;
            assert_eq!(bench.workers.stop(Duration::from_secs(grace)).await, expected);
            assert!(bench.began.try_recv().is_err(), "no new key after the stop");
        }
    }

    // proves: deployment/C-7
    #[tokio::test(start_paused = true)]
    async fn metrics_have_upstreams_names() {
        let mut bench = bench(1, |_| {
            after(Duration::from_secs(4), Verdict::Retry(Retry::Backoff, Wake::OnChange))
        });
        bench.queue.open();
        bench.add("a");
        bench.add("b");
        bench.turns(1).await;
        tokio::time::advance(Duration::from_secs(3)).await;
        for (line, value) in [
            ("workqueue_depth{name=\"test\"}", 1),
            ("workqueue_adds_total{name=\"test\"}", 2),
            ("workqueue_unfinished_work_seconds{name=\"test\"}", 3),
            ("workqueue_longest_running_processor_seconds{name=\"test\"}", 3),
        ] {
            bench.check_metric(line, value);
        }
        bench.turns(1).await;
        for (line, value) in [
            ("workqueue_retries_total{name=\"test\"}", 1),
            ("workqueue_queue_duration_seconds_count{name=\"test\"}", 2),
            ("workqueue_queue_duration_seconds_sum{name=\"test\"}", 4),
            ("workqueue_work_duration_seconds_count{name=\"test\"}", 1),
            ("workqueue_work_duration_seconds_bucket{name=\"test\",le=\"10\"}", 1),
            (
                "reconcile_turn_duration_seconds_count{name=\"test\",result=\"retry\"}",
                1,
            ),
        ] {
            bench.check_metric(line, value);
        }
    }
}
