//! The task behind a candidacy: it acquires the lease, keeps it, and gives it back.

use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::BoxStream;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::watch;
use tokio::time;
use tokio_util::sync::CancellationToken;

use crate::chance::Chance;
use crate::lease::elect::{Answer, Ask, Elector, Moment, Step};
use crate::lease::fence::Fence;
use crate::lease::hold::{Candidacy, LeaseMetrics, Standing};
use crate::lease::lock::Lock;
use crate::time::SharedClock;

/// How much longer than the retry period a standby waits at most, in retry periods, so that standbys do not act in step.
const JITTER: f64 = 1.2;

/// How often giving the lease back is tried.
const RESIGNATIONS: usize = 3;

pub(super) struct Candidate<L> {
    candidacy: Candidacy,
    lock: L,
    sightings: BoxStream<'static, Answer>,
    elector: Elector,
    fence: Fence,
    clock: SharedClock,
    chance: Chance,
    status: Gauge,
    slow_path: Counter,
}

/// Why acquiring or keeping has ended.
enum Ending {
    Acquired { held_until: Instant },
    Stopped,
    Lost(String),
}

/// What one attempt to acquire or renew came to.
enum Attempt {
    Held { until: Instant },
    HeldBy(String),
    Failed(String),
}

impl<L: Lock> Candidate<L> {
    pub(super) fn new(
        candidacy: Candidacy,
        lock: L,
        fence: Fence,
        clock: SharedClock,
        chance: Chance,
        metrics: &LeaseMetrics,
    ) -> Self {
        let (status, slow_path) = metrics.of(&candidacy.lease);
        Self {
            sightings: lock.sightings(),
            lock,
            elector: Elector::new(candidacy.identity.clone(), candidacy.timing),
            candidacy,
            fence,
            clock,
            chance,
            status,
            slow_path,
        }
    }

    /// Runs until the lease is lost, or until `stopped` is cancelled.
    pub(super) async fn run(mut self, standing: watch::Sender<Standing>, stopped: CancellationToken) {
        let Ending::Acquired { held_until } = self.acquire(&stopped).await else {
            return;
        };
        tracing::info!(
            lease = self.candidacy.lease,
            identity = self.candidacy.identity,
            "acquired the lease"
        );
        self.status.set(1);
        standing.send_replace(Standing::Leading);
        let ending = self.keep(held_until, &stopped).await;
        self.fence.close();
        self.status.set(0);
        if let Ending::Lost(why) = ending {
            standing.send_replace(Standing::Lost(why));
        } else {
            self.resign().await;
        }
    }

    async fn acquire(&mut self, stopped: &CancellationToken) -> Ending {
        let mut holder = String::new();
        while !stopped.is_cancelled() {
            match self.attempt().await {
                Attempt::Held { until } => return Ending::Acquired { held_until: until },
                Attempt::HeldBy(other) if other == holder => {}
                Attempt::HeldBy(other) => {
                    tracing::info!(lease = self.candidacy.lease, holder = other, "standing by");
                    holder = other;
                }
                Attempt::Failed(error) => {
                    tracing::warn!(lease = self.candidacy.lease, error, "failed to acquire the lease");
                }
            }
            let wait = self.pause();
            tokio::select! {
                biased;
                () = stopped.cancelled() => {}
                () = time::sleep(wait) => {}
                () = self.vacancy() => {}
            }
        }
        Ending::Stopped
    }

    /// How long to wait before the next attempt to acquire: no longer than until the record that was last seen expires.
    fn pause(&self) -> Duration {
        let retry = self.candidacy.timing.retry;
        let pause = retry.mul_f64(1.0 + JITTER * self.chance.fraction());
        let left = self.elector.expires_in(self.clock.instant());
        left.map_or(pause, |left| pause.min(left))
    }

    /// Waits until the watch shows a lease that nobody holds.
    async fn vacancy(&mut self) {
        while let Some(sighting) = self.sightings.next().await {
            match sighting {
                Answer::Found(record, version) => {
                    self.elector.observe(record, version, self.clock.instant());
                    if self.elector.is_vacant() {
                        return;
                    }
                }
                Answer::Missing if self.elector.foreign_holder(self.clock.instant()).is_none() => return,
                Answer::Missing | Answer::Conflict | Answer::Failed(_) => {}
            }
        }
        std::future::pending::<()>().await;
    }

    /// Waits until the watch shows a lease that is not ours any more: somebody has taken, edited or deleted it.
    async fn challenge(&mut self) {
        while let Some(sighting) = self.sightings.next().await {
            match sighting {
                Answer::Found(record, _) if self.elector.is_mine(&record) => {}
                Answer::Found(..) | Answer::Missing => return,
                Answer::Conflict | Answer::Failed(_) => {}
            }
        }
        std::future::pending::<()>().await;
    }

    /// Renews until that has not succeeded for the renew deadline.
    async fn keep(&mut self, mut held_until: Instant, stopped: &CancellationToken) -> Ending {
        let mut last_error = "this process did not get to it".to_owned();
        loop {
            let left = held_until.saturating_duration_since(self.clock.instant());
            tokio::select! {
                biased;
                () = stopped.cancelled() => return Ending::Stopped,
                () = time::sleep(self.candidacy.timing.retry.min(left)) => {}
                () = self.challenge() => {}
            }
            let deadline = time::Instant::from_std(held_until);
            if self.clock.instant() >= held_until {
                return Ending::Lost(format!("it could not be renewed in time ({last_error})"));
            }
            match time::timeout_at(deadline, self.attempt()).await {
                Ok(Attempt::Held { until }) => held_until = until,
                Ok(Attempt::HeldBy(other)) => return Ending::Lost(format!("{other} holds it")),
                Ok(Attempt::Failed(error)) => {
                    tracing::warn!(lease = self.candidacy.lease, error, "failed to renew the lease");
                    last_error = error;
                }
                Err(_) => "no answer".clone_into(&mut last_error),
            }
        }
    }

    /// Tries once to acquire or renew. On success the fence is open until the renew deadline after the request was sent.
    async fn attempt(&mut self) -> Attempt {
        let mut ask = self.elector.begin(self.moment());
        loop {
            let sent = self.clock.instant();
            let answer = self.ask(&ask).await;
            let at = self.moment();
            match self.elector.hear(&ask, answer, at) {
                Step::Ask(next) => {
                    if matches!(ask, Ask::Write { .. }) {
                        self.slow_path.inc();
                    }
                    ask = next;
                }
                Step::HeldBy(other) => return Attempt::HeldBy(other),
                Step::Failed(error) => return Attempt::Failed(error),
                Step::Held => {
                    let until = sent + self.candidacy.timing.renew_deadline;
                    self.fence.hold_until(until);
                    return Attempt::Held { until };
                }
            }
        }
    }

    /// Gives the lease back. If that fails a successor has to wait until it expires, no more.
    async fn resign(&mut self) {
        for _ in 0..RESIGNATIONS {
            let Some(ask) = self.elector.resign(self.clock.now()) else {
                return;
            };
            if let Answer::Found(..) = self.ask(&ask).await {
                tracing::info!(lease = self.candidacy.lease, "gave the lease back");
                return;
            }
            if let Answer::Found(record, version) = self.ask(&Ask::Read).await {
                self.elector.observe(record, version, self.clock.instant());
            }
        }
        tracing::warn!(
            lease = self.candidacy.lease,
            "failed to give the lease back, it will expire"
        );
    }

    async fn ask(&mut self, ask: &Ask) -> Answer {
        let patience = self.candidacy.timing.renew_deadline / 2;
        let answer = time::timeout(patience, self.lock.ask(ask)).await;
        answer.unwrap_or_else(|_| Answer::Failed("no answer from the server".to_owned()))
    }

    fn moment(&self) -> Moment {
        Moment {
            wall: self.clock.now(),
            instant: self.clock.instant(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ResourceVersion;
    use crate::lease::elect::{Record, Timing};
    use crate::lease::hold::Campaign;
    use crate::metrics::Metrics;
    use crate::time::{Clock, RuntimeClock, SystemClock, Timestamp};
    use futures::FutureExt;
    use parking_lot::Mutex;
    use std::sync::Arc;

    /// A Lease that candidates of a test share, and the faults that one of them meets.
    #[derive(Clone, Debug)]
    struct SharedLock {
        lease: Arc<watch::Sender<Option<(Record, u64)>>>,
        fault: Arc<Mutex<Fault>>,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fault {
        None,
        /// Requests get an error and do nothing.
        Refused,
        /// Requests get no answer and do nothing.
        Silent,
        /// Writes are stored, their answers lost.
        Deaf,
    }

    impl SharedLock {
        fn new() -> Self {
            Self {
                lease: Arc::new(watch::Sender::new(None)),
                fault: Arc::new(Mutex::new(Fault::None)),
            }
        }

        /// The same lease through another connection.
        fn connection(&self) -> Self {
            Self {
                lease: Arc::clone(&self.lease),
                fault: Arc::new(Mutex::new(Fault::None)),
            }
        }

        fn break_by(&self, fault: Fault) {
            *self.fault.lock() = fault;
        }

        fn record(&self) -> Record {
            self.lease.borrow().clone().unwrap().0
        }

        fn set_holder(&self, holder: &str) {
            let (mut record, version) = self.lease.borrow().clone().unwrap();
            holder.clone_into(&mut record.holder);
            self.lease.send_replace(Some((record, version + 1)));
        }

        fn carry_out(&self, ask: &Ask) -> Answer {
            let stored = self.lease.borrow().clone();
            match (ask, stored) {
                (Ask::Read | Ask::Write { .. }, None) => Answer::Missing,
                (Ask::Read, Some((record, version))) => found(record, version),
                (Ask::Create(_), Some(_)) => Answer::Conflict,
                (Ask::Create(record), None) => self.store(record, 1),
                (Ask::Write { over, .. }, Some((_, version))) if over.as_str() != version.to_string() => {
                    Answer::Conflict
                }
                (Ask::Write { record, .. }, Some((_, version))) => self.store(record, version + 1),
            }
        }

        fn store(&self, record: &Record, version: u64) -> Answer {
            self.lease.send_replace(Some((record.clone(), version)));
            found(record.clone(), version)
        }
    }

    fn found(record: Record, version: u64) -> Answer {
        Answer::Found(record, ResourceVersion::new(version.to_string()))
    }

    impl Lock for SharedLock {
        async fn ask(&self, ask: &Ask) -> Answer {
            let fault = *self.fault.lock();
            match fault {
                Fault::None => self.carry_out(ask),
                Fault::Refused => Answer::Failed("refused".to_owned()),
                Fault::Silent => std::future::pending().await,
                Fault::Deaf => {
                    self.carry_out(ask);
                    std::future::pending().await
                }
            }
        }

        fn sightings(&self) -> BoxStream<'static, Answer> {
            let changes = self.lease.subscribe();
            let next = |mut changes: watch::Receiver<Option<(Record, u64)>>| async move {
                changes.changed().await.ok()?;
                let seen = changes.borrow_and_update().clone();
                Some((
                    seen.map_or(Answer::Missing, |(record, version)| found(record, version)),
                    changes,
                ))
            };
            futures::stream::unfold(changes, next).boxed()
        }
    }

    struct Process {
        campaign: Campaign,
        fence: Fence,
        metrics: Metrics,
    }

    fn wall() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn start(identity: &str, lock: &SharedLock) -> Process {
        start_at(identity, lock, wall())
    }

    fn start_at(identity: &str, lock: &SharedLock, wall: Timestamp) -> Process {
        let metrics = Metrics::default();
        let lease_metrics = metrics.register(LeaseMetrics::register);
        let fence = Fence::closed();
        let candidacy = Candidacy {
            lease: "web".to_owned(),
            identity: identity.to_owned(),
            timing: Timing::UPSTREAM,
        };
        let clock = Arc::new(RuntimeClock::starting_at(wall));
        Process {
            campaign: Campaign::start(
                candidacy,
                lock.clone(),
                fence.clone(),
                clock,
                Chance::system(),
                &lease_metrics,
            ),
            fence,
            metrics,
        }
    }

    impl Process {
        fn may_write(&self) -> bool {
            self.fence.check(SystemClock.instant()).is_ok()
        }

        fn exports(&self, line: &str) -> bool {
            self.metrics.text().unwrap().lines().any(|known| known == line)
        }
    }

    /// Seconds until `event`, which has to come within five minutes.
    async fn seconds_until<T>(event: impl Future<Output = T>) -> (f64, T) {
        let start = SystemClock.instant();
        let output = time::timeout(Duration::from_mins(5), event)
            .await
            .expect("it never came");
        ((SystemClock.instant() - start).as_secs_f64(), output)
    }

    // proves: deployment/I-4
    #[tokio::test(start_paused = true)]
    async fn one_candidate_leads_and_the_other_waits() {
        let lock = SharedLock::new();
        let (mut first, mut second) = (start("first", &lock), start("second", &lock.connection()));
        first.campaign.leading().await;
        let waited = time::timeout(Duration::from_mins(10), second.campaign.leading()).await;
        assert!(waited.is_err(), "the second never leads");
        assert!(first.may_write() && !second.may_write());
        assert!(first.campaign.lost().now_or_never().is_none());
        assert!(first.exports("leader_election_master_status{name=\"web\"} 1"));
        assert!(second.exports("leader_election_master_status{name=\"web\"} 0"));
        let record = lock.record();
        assert_eq!(
            (&*record.holder, record.duration_seconds, record.transitions),
            ("first", 15, 0)
        );
    }

    // proves: deployment/I-4
    #[tokio::test(start_paused = true)]
    async fn a_killed_leader_is_followed_when_its_record_expires() {
        for ahead in [0, 3_600] {
            let lock = SharedLock::new();
            let mut first = start("first", &lock);
            first.campaign.leading().await;
            let other_clock = crate::time::plus(wall(), Duration::from_secs(ahead));
            let mut second = start_at("second", &lock.connection(), other_clock);
            time::sleep(Duration::from_secs(30)).await;
            drop(first);
            let (seconds, ()) = seconds_until(second.campaign.leading()).await;
            assert!(
                (12.9..15.1).contains(&seconds),
                "after {seconds} s, clocks {ahead} s apart"
            );
            assert_eq!(lock.record().transitions, 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_resigns_is_followed_at_once() {
        let lock = SharedLock::new();
        let mut first = start("first", &lock);
        first.campaign.leading().await;
        let mut second = start("second", &lock.connection());
        time::sleep(Duration::from_secs(31)).await;
        let fence = first.fence.clone();
        first.campaign.resign().await;
        assert!(
            fence.check(SystemClock.instant()).is_err(),
            "no write after the lease was given back"
        );
        let (seconds, ()) = seconds_until(second.campaign.leading()).await;
        assert!(seconds < 1.0, "after {seconds} s");
        assert_eq!((&*lock.record().holder, lock.record().transitions), ("second", 1));
    }

    // proves: deployment/I-4
    #[tokio::test(start_paused = true)]
    async fn a_leader_that_cannot_renew_is_fenced_before_its_record_expires_for_others() {
        for fault in [Fault::Refused, Fault::Silent] {
            let lock = SharedLock::new();
            let mut first = start("first", &lock);
            let mut second = start("second", &lock.connection());
            first.campaign.leading().await;
            lock.break_by(fault);
            let fence = first.fence.clone();
            let (lost_after, why) = seconds_until(first.campaign.lost()).await;
            assert!(
                (8.0..=10.0).contains(&lost_after),
                "{fault:?}: lost after {lost_after} s"
            );
            assert!(why.contains("could not be renewed"), "{why}");
            assert!(fence.check(SystemClock.instant()).is_err());
            let (led_after, ()) = seconds_until(second.campaign.leading()).await;
            assert!(
                led_after > 3.0,
                "{fault:?}: writes of the first may be on their way for 3 s, the second led after {led_after} s"
            );
            assert!(first.exports("leader_election_master_status{name=\"web\"} 0"));
        }
    }

    // proves: deployment/I-4
    #[tokio::test(start_paused = true)]
    async fn a_leader_that_did_not_run_for_a_while_may_not_write_when_it_wakes() {
        let lock = SharedLock::new();
        let mut first = start("first", &lock);
        first.campaign.leading().await;
        assert!(first.may_write());
        time::advance(Duration::from_secs(11)).await;
        assert!(!first.may_write(), "before any of its tasks has run");
        first.campaign.lost().await;
        assert_eq!(
            lock.record().renewed,
            Some(wall()),
            "and it did not renew what others may have taken"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_outlives_a_short_outage() {
        let lock = SharedLock::new();
        let mut first = start("first", &lock);
        first.campaign.leading().await;
        for fault in [Fault::Refused, Fault::Silent, Fault::Deaf] {
            lock.break_by(fault);
            time::sleep(Duration::from_secs(5)).await;
            lock.break_by(Fault::None);
            time::sleep(Duration::from_secs(30)).await;
            assert!(first.may_write(), "{fault:?}");
        }
        assert!(first.campaign.lost().now_or_never().is_none());
        assert_eq!(lock.record().transitions, 0);
        assert!(
            !first.exports("leader_election_slowpath_total{name=\"web\"} 0"),
            "lost answers were looked into"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_finds_another_holder_stops_at_once() {
        let lock = SharedLock::new();
        let mut first = start("first", &lock);
        first.campaign.leading().await;
        time::sleep(Duration::from_secs(5)).await;
        lock.set_holder("thief");
        let (seconds, why) = seconds_until(first.campaign.lost()).await;
        assert!(seconds <= 0.1 && why.contains("thief"), "after {seconds} s: {why}");
        assert!(!first.may_write());
    }

    // proves: deployment/I-4
    #[tokio::test(start_paused = true)]
    async fn a_deleted_lease_is_created_again_by_its_holder_and_taken_by_nobody_else() {
        for fault in [Fault::None, Fault::Silent] {
            let lock = SharedLock::new();
            let mut first = start("first", &lock);
            first.campaign.leading().await;
            let mut second = start("second", &lock.connection());
            time::sleep(Duration::from_secs(5)).await;
            lock.break_by(fault);
            lock.lease.send_replace(None);
            if fault == Fault::None {
                time::sleep(Duration::from_millis(100)).await;
                assert_eq!(lock.record().holder, "first");
                assert!(first.may_write());
            }
            let waited = time::timeout(Duration::from_secs(12), second.campaign.leading()).await;
            assert!(waited.is_err(), "{fault:?}: the first may still be writing");
            if fault == Fault::Silent {
                assert!(!first.may_write(), "it could not renew");
                let (seconds, ()) = seconds_until(second.campaign.leading()).await;
                assert!(seconds < 5.0, "after {seconds} s more");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_standby_stops_without_touching_the_lease() {
        let lock = SharedLock::new();
        let mut first = start("first", &lock);
        first.campaign.leading().await;
        let second = start("second", &lock.connection());
        time::sleep(Duration::from_secs(5)).await;
        second.campaign.resign().await;
        assert_eq!(lock.record().holder, "first");
    }
}
