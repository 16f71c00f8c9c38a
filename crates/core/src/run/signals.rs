//! What asks a process to stop.

use std::future::Future;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Asks a process to stop: once, and perhaps again.
pub trait Stops: Send {
    /// Waits until the process is asked to stop (again). Nothing is missed if the future is dropped.
    fn next(&mut self) -> impl Future<Output = ()> + Send;
}

/// SIGTERM and SIGINT.
#[derive(Debug)]
pub struct Signals {
    term: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on the signals no longer end the process by themselves.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }
}

impl Stops for Signals {
    async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.term.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
