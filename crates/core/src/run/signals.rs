//! The two signals that ask a process to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for SIGTERM and SIGINT.
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

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
