//! The task that keeps a store current. All choices are made by the machine in `step`; this only carries them out.

mod backoff;
mod feed;
mod frame;
mod lines;
mod metrics;
mod step;

use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use self::feed::Stream;
use self::frame::{Ending, Frame, Page};
use self::step::{Ask, Change, History, Machine, Method};
use super::{Delta, Store};
use crate::chance::Chance;
use crate::id::{Kind, ObjectKey};
use crate::labels::Interner;
use crate::meta::{DecodeError, Object};
use crate::time::SharedClock;

pub use feed::{Feed, Scope};
pub use metrics::CacheMetrics;

/// A watch is closed by the server after this long, plus up to [`LIFETIME_SPREAD_SECONDS`].
const LIFETIME: Duration = Duration::from_mins(4);
/// Spreads the ends of watches that began together.
const LIFETIME_SPREAD_SECONDS: f64 = 90.0;
/// A connection on which nothing came for the lifetime of the watch and this long is dead.
const MARGIN: Duration = Duration::from_secs(15);
/// Servers send a bookmark about once a minute. An open watch without a line for longer than several of them is suspicious.
const QUIET: Duration = Duration::from_mins(3);
/// A server that does not have the version from which a watch is to go on says so with its first line. A watch without a line for this
/// long goes on.
const SETTLED: Duration = Duration::from_millis(500);
/// A cache that has been cut off from the server for longer is stale.
const STALE_AFTER: Duration = Duration::from_mins(1);

/// Is called for every change, after the store shows it.
pub type Subscriber<T> = Box<dyn Fn(&Delta<T>) + Send + Sync>;

/// A store and what keeps it current.
pub struct Cache<T: Object> {
    feed: Feed,
    store: Arc<Store<T>>,
    subscribers: Vec<Subscriber<T>>,
    on_notice: Vec<Box<dyn Fn(Notice) + Send + Sync>>,
    /// Generation of the last whole list; see [`Cache::refresh`].
    listed: watch::Sender<u64>,
    /// Generation of the list that is wanted.
    wanted: AtomicU64,
    refresh: Notify,
    contact: Mutex<Contact>,
    aids: CacheAids,
}

/// What the caches of a process share.
#[derive(Clone, Debug)]
pub struct CacheAids {
    /// Where they read the time.
    pub clock: SharedClock,
    /// What spreads their requests.
    pub chance: Chance,
    /// What makes equal strings of different objects one.
    pub interner: Arc<Interner>,
    /// What they count.
    pub metrics: CacheMetrics,
}

/// What a cache notices about the server's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The watch failed. The server may come back with another history than the store shows: restored from a backup.
    Doubted,
    /// After a doubt: the store shows the history that the server has.
    SameHistory,
    /// The server has another history than before: its version is lower than one already seen. Whatever was remembered by
    /// version is void. The store begins to show the new state only after this, unless it took the list itself to find out.
    OtherHistory,
}

/// Whether the server is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contact {
    /// A watch is open or a list is coming in.
    Open,
    /// Not since then.
    LostAt(Instant),
}

impl<T: Object> Cache<T> {
    /// An empty cache. It fills once it [runs](Self::run).
    pub fn new(feed: Feed, aids: CacheAids) -> Self {
        Self {
            feed,
            store: Arc::default(),
            subscribers: Vec::new(),
            on_notice: Vec::new(),
            listed: watch::Sender::new(0),
            wanted: AtomicU64::new(1),
            refresh: Notify::new(),
            contact: Mutex::new(Contact::LostAt(aids.clock.instant())),
            aids,
        }
    }

    /// The store that this cache fills.
    pub fn store(&self) -> Arc<Store<T>> {
        Arc::clone(&self.store)
    }

    /// Calls `subscriber` for every change from now on, in the order of events, after the store shows it. It must not block.
    pub fn subscribe(&mut self, subscriber: Subscriber<T>) {
        self.subscribers.push(subscriber);
    }

    /// Calls `listener` with all that the cache notices about the server's history.
    pub fn on_notice(&mut self, listener: Box<dyn Fn(Notice) + Send + Sync>) {
        self.on_notice.push(listener);
    }

    /// The kind that is cached.
    pub fn kind(&self) -> Kind {
        T::KIND
    }

    /// True once a whole list is in the store.
    pub fn is_synced(&self) -> bool {
        *self.listed.borrow() >= self.wanted.load(Ordering::SeqCst)
    }

    /// Waits until a whole list is in the store.
    pub async fn synced(&self) {
        let mut listed = self.listed.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        let _ = listed
            .wait_for(|listed| *listed >= self.wanted.load(Ordering::SeqCst))
            .await;
    }

    /// Lists anew, as the server holds things now: what a former leader wrote last may not have arrived here. The cache is
    /// not synced until a list is in the store that was begun after this call; one that was under way does not count.
    pub fn refresh(&self) {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        self.refresh.notify_one();
    }

    /// True if the server has not been heard for a minute. A quiet watch is heard as long as it is open.
    pub fn is_stale(&self, now: Instant) -> bool {
        match *self.contact.lock() {
            Contact::Open => false,
            Contact::LostAt(at) => now.saturating_duration_since(at) > STALE_AFTER,
        }
    }

    /// Keeps the store current until the future is dropped, which is safe at any time.
    pub async fn run(self: Arc<Self>) -> Infallible {
        let mut follower = Follower {
            cache: &self,
            machine: Machine::default(),
            generation: self.wanted.load(Ordering::SeqCst),
            warned: HashSet::new(),
            told: false,
            doubted: false,
        };
        loop {
            let started = self.aids.clock.instant();
            let ended = tokio::select! {
                biased;
                () = self.refresh.notified() => {
                    follower.restart();
                    continue;
                }
                ended = follower.attempt() => ended,
            };
            if let Err(ending) = ended {
                let now = self.aids.clock.instant();
                self.lost(now);
                let lasted = now.saturating_duration_since(started);
                let wait = follower.machine.ended(&ending, lasted, self.aids.chance.fraction());
                follower.tell_doubt();
                self.report(&ending, wait);
                tokio::select! {
                    biased;
                    () = self.refresh.notified() => follower.restart(),
                    () = tokio::time::sleep(wait) => {}
                }
            }
        }
    }

    fn publish(&self, deltas: impl IntoIterator<Item = Delta<T>>) {
        for delta in deltas {
            for subscriber in &self.subscribers {
                subscriber(&delta);
            }
        }
        self.aids.metrics.holds(T::KIND, self.store.len());
    }

    fn listed(&self, method: Method, generation: u64) {
        let (kind, objects) = (T::KIND.kind, self.store.len());
        self.aids.metrics.listed(T::KIND, method.as_str());
        if self.listed.send_replace(generation) < generation {
            tracing::info!(kind, objects, method = method.as_str(), "synced");
        }
    }

    fn heard(&self) {
        *self.contact.lock() = Contact::Open;
        self.aids.metrics.connected(T::KIND, 1);
    }

    fn lost(&self, now: Instant) {
        let mut contact = self.contact.lock();
        if *contact == Contact::Open {
            *contact = Contact::LostAt(now);
        }
        self.aids.metrics.connected(T::KIND, 0);
    }

    fn report(&self, ending: &Ending, wait: Duration) {
        let kind = T::KIND.kind;
        let retry_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        match ending {
            Ending::Closed => tracing::debug!(kind, "the server closed a watch"),
            Ending::Refused(error) if error.code == 403 => {
                tracing::error!(kind, %error, retry_ms, "not allowed to list and watch, check the RBAC rules");
            }
            Ending::Refused(_) | Ending::Cut(_) if ending.forgets_version() => {
                tracing::info!(kind, error = %ending, "the server cannot go on from the last version, listing anew");
            }
            Ending::Refused(_) | Ending::Cut(_) | Ending::Broken(_) => {
                tracing::warn!(kind, error = %ending, retry_ms, "a list or watch failed");
            }
        }
        if !matches!(ending, Ending::Closed) {
            self.aids.metrics.failed(T::KIND, ending.code());
        }
    }
}

impl<T: Object> fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("kind", &T::KIND)
            .field("feed", &self.feed)
            .field("objects", &self.store.len())
            .field("synced", &self.is_synced())
            .finish_non_exhaustive()
    }
}

/// A running cache.
struct Follower<'a, T: Object> {
    cache: &'a Cache<T>,
    machine: Machine,
    /// What the list under way, or the last one, was begun for.
    generation: u64,
    /// Objects that could not be decoded when last seen; each is logged once.
    warned: HashSet<ObjectKey>,
    /// Whether the other history that the next list will show has been told already.
    told: bool,
    /// Whether the doubt that the machine has is told.
    doubted: bool,
}

impl<T: Object> Follower<'_, T> {
    /// Begins the list that is wanted now.
    fn restart(&mut self) {
        self.generation = self.cache.wanted.load(Ordering::SeqCst);
        self.machine.restart();
    }

    /// One request and all that comes of it.
    async fn attempt(&mut self) -> Result<(), Ending> {
        let (cache, interner) = (self.cache, &self.cache.aids.interner);
        match self.machine.ask() {
            ask @ Ask::Page(_) => {
                let body = cache.feed.fetch(T::KIND, &ask).await?;
                cache.heard();
                for change in self.machine.page(Page::decode(&body, interner)?) {
                    self.absorb(change);
                }
                Ok(())
            }
            Ask::Version => {
                let body = cache.feed.fetch(T::KIND, &Ask::Version).await?;
                if self.machine.version(&frame::version_of_list(&body)?) == History::Another {
                    self.tell_other_history();
                }
                Ok(())
            }
            ask @ (Ask::Initial | Ask::Resume(_)) => self.stream(&ask).await,
        }
    }

    async fn stream(&mut self, ask: &Ask) -> Result<(), Ending> {
        let cache = self.cache;
        let spread = cache.aids.chance.fraction() * LIFETIME_SPREAD_SECONDS;
        let lifetime = LIFETIME + Duration::from_secs_f64(spread);
        let mut stream = cache.feed.open(T::KIND, ask, lifetime).await?;
        cache.heard();
        let silence = lifetime + MARGIN;
        if self.machine.is_doubtful() && matches!(ask, Ask::Resume(_)) {
            if let Ok(line) = tokio::time::timeout(SETTLED, stream.line(silence)).await {
                self.take(&line?)?;
            }
            self.machine.settle();
            self.tell_doubt();
        }
        loop {
            let line = self.line(&mut stream, silence).await?;
            self.take(&line)?;
        }
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Ending> {
        let frame = Frame::decode(line, &self.cache.aids.interner)?;
        if let Some(change) = self.machine.frame(frame) {
            self.absorb(change);
        }
        Ok(())
    }

    /// The next line of a stream, which is dead after `silence`. Long before that people are told: a server that is frozen
    /// or cut off without a word may leave no other trace.
    async fn line(&self, stream: &mut Stream, silence: Duration) -> Result<Bytes, Ending> {
        if let Ok(line) = tokio::time::timeout(QUIET, stream.line(silence)).await {
            return line;
        }
        let (kind, seconds) = (T::KIND.kind, QUIET.as_secs());
        tracing::warn!(
            kind,
            seconds,
            "a watch is open but nothing has come for long, not even a bookmark"
        );
        stream.line(silence.saturating_sub(QUIET)).await
    }

    /// Updates the store, then calls the subscribers.
    fn absorb(&mut self, change: Change<T>) {
        let cache = self.cache;
        let mut complete = None;
        match &change {
            Change::Present(object, _) => {
                self.warned.remove(&object.meta().key);
            }
            Change::Absent(gone, _) => {
                self.warned.remove(&gone.key);
            }
            Change::Unreadable(identity, _, error) => self.warn(&identity.key, error),
            Change::Reached(_) => {}
            Change::Listed { present, history, .. } => {
                self.warned.retain(|key| present.contains(key));
                complete = Some(*history);
            }
        }
        cache.publish(change.apply_to(&cache.store));
        if let Some(history) = complete {
            if history == History::Another {
                self.tell_other_history();
            }
            self.told = false;
            self.tell_doubt();
            cache.listed(self.machine.method(), self.generation);
        }
    }

    /// Tells it once, until the list that belongs to it is complete.
    fn tell_other_history(&mut self) {
        if mem::replace(&mut self.told, true) {
            return;
        }
        let kind = T::KIND.kind;
        tracing::warn!(
            kind,
            "the server's version is lower than before, as after a restore from a backup"
        );
        self.notice(Notice::OtherHistory);
    }

    /// Tells that a doubt has begun or ended.
    fn tell_doubt(&mut self) {
        let doubted = self.machine.is_doubtful();
        if mem::replace(&mut self.doubted, doubted) != doubted {
            self.cache.aids.metrics.doubted(T::KIND, doubted);
            self.notice(if doubted { Notice::Doubted } else { Notice::SameHistory });
        }
    }

    fn notice(&self, notice: Notice) {
        for listener in &self.cache.on_notice {
            listener(notice);
        }
    }

    fn warn(&mut self, key: &ObjectKey, error: &DecodeError) {
        self.cache.aids.metrics.undecodable(T::KIND);
        if self.warned.insert(key.clone()) {
            let kind = T::KIND.kind;
            tracing::warn!(kind, object = %key, %error, "an object could not be decoded, its last known state is kept");
        }
    }
}

#[cfg(test)]
mod tests;
