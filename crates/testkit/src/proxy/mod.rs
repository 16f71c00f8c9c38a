//! A proxy between one controller process and the API server: it records every request and makes the trouble that a test
//! asks for.
//!
//! The controller finds it by its kubeconfig and sends its own credentials through it, so the server treats it as ever. A test
//! whose controller asks in a way that the in-memory server would not know (see [`crate::simulation::server::Shape`]) fails at
//! its end.

mod asked;
mod fault;
mod forward;
mod lines;
mod log;
mod port;
#[cfg(test)]
mod tests;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;

pub use self::asked::{Asked, Verb, Which};
pub use self::fault::{Fault, Refusal, Rule};
pub use self::log::Exchange;

use self::fault::Rules;
use self::forward::Way;
use self::log::Log;
use self::port::{Gate, Port};
use self::upstream::Upstream;
use crate::server::Server;

/// The longest that a test waits for a request.
const WITHIN: Duration = Duration::from_mins(2);
/// How often the record is looked at.
const POLL: Duration = Duration::from_millis(20);
/// How many requests a failed test shows.
const SHOWN: usize = 60;

/// Who uses a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guests {
    /// Controllers, which ask only in known ways.
    Controllers,
    /// The tests of the proxy itself.
    #[cfg(test)]
    Anybody,
}

/// A running proxy. It ends when this is dropped.
pub struct Proxy {
    address: SocketAddr,
    rules: Arc<Rules>,
    log: Arc<Log>,
    guests: Guests,
    gate: watch::Sender<Gate>,
    openings: std::sync::atomic::AtomicU64,
    _task: JoinSet<()>,
}

impl Proxy {
    /// A proxy in front of `server`.
    pub async fn start(server: &Server) -> Self {
        Self::before(Upstream::of(server.kubeconfig()).await, Guests::Controllers)
    }

    fn before(upstream: Upstream, guests: Guests) -> Self {
        let (rules, log) = (Arc::<Rules>::default(), Arc::<Log>::default());
        let way = Way {
            upstream,
            rules: Arc::clone(&rules),
            log: Arc::clone(&log),
        };
        let gate = watch::Sender::new(Gate::Open(0));
        let port = Port::open();
        let address = port.address();
        let mut task = JoinSet::new();
        let watched = gate.subscribe();
        task.spawn(async move { match port.serve(way, watched).await {} });
        Self {
            address,
            rules,
            log,
            guests,
            gate,
            openings: std::sync::atomic::AtomicU64::new(0),
            _task: task,
        }
    }

    /// Where a controller finds it.
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on this fault strikes these requests, until it is lifted. Of several faults the one set first strikes.
    pub fn strike(&self, which: Which, fault: Fault) -> Rule {
        self.strike_times(usize::MAX, which, fault)
    }

    /// As [`Proxy::strike`], but only so often.
    pub fn strike_times(&self, times: usize, which: Which, fault: Fault) -> Rule {
        self.rules.add(which, fault, times)
    }

    /// Closes all connections and refuses new ones, until [`Proxy::reconnect`].
    pub fn cut_off(&self) {
        self.gate.send_replace(Gate::Shut);
    }

    /// Takes connections; those that are open are closed first.
    pub fn reconnect(&self) {
        let opening = self.openings.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        self.gate.send_replace(Gate::Open(opening));
    }

    /// The recorded requests of this kind, in the order in which they arrived.
    pub fn seen(&self, which: &Which) -> Vec<Exchange> {
        self.log.of(which)
    }

    /// How many requests of this kind arrived after that moment.
    pub fn count_since(&self, since: Instant, which: &Which) -> usize {
        self.seen(which)
            .iter()
            .filter(|exchange| exchange.arrived > since)
            .count()
    }

    /// Waits until a recorded request fits, and returns it.
    pub async fn until(&self, what: &str, which: &Which, fits: impl Fn(&Exchange) -> bool) -> Exchange {
        let wait = async {
            loop {
                if let Some(found) = self.seen(which).into_iter().find(&fits) {
                    return found;
                }
                tokio::time::sleep(POLL).await;
            }
        };
        let found = tokio::time::timeout(WITHIN, wait).await;
        found.unwrap_or_else(|_| panic!("no such request: {what}"))
    }
}

#[allow(clippy::print_stderr, reason = "libtest shows it with the failed test")]
impl Drop for Proxy {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let all = self.log.of(&Which::all());
            eprintln!("--- the last of {} requests through {}", all.len(), self.address);
            for exchange in all.iter().skip(all.len().saturating_sub(SHOWN)) {
                eprintln!("{exchange}");
            }
        } else if self.guests == Guests::Controllers {
            let strange = self.log.strange();
            assert!(
                strange.is_empty(),
                "requests of no known shape:\n{}",
                strange.join("\n")
            );
        }
    }
}
