//! What people see during a long wait: one live line on a terminal, plain lines with a heartbeat elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::clock;

/// Longest silence in a log that is not a terminal.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// One piece of work that people wait for.
pub(crate) struct Progress {
    title: String,
    started: Instant,
    spoke: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Announce the work.
    pub(crate) fn start(title: impl Into<String>) -> Self {
        let title = title.into();
        let bar = std::io::stderr().is_terminal().then(|| live_line(&title));
        if bar.is_none() {
            eprintln!("{title} ...");
        }
        Self {
            title,
            started: clock::now(),
            spoke: clock::now(),
            bar,
        }
    }

    /// Tell where the work is. Call it about once a second: it also keeps the log alive.
    pub(crate) fn tell(&mut self, detail: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(detail.to_owned());
        } else if self.spoke.elapsed() >= HEARTBEAT {
            self.spoke = clock::now();
            eprintln!(
                "{} ... {} {detail}",
                self.title,
                clock::for_people(self.started.elapsed())
            );
        }
    }

    /// The work is done.
    pub(crate) fn finish(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        eprintln!("{} done in {}", self.title, clock::for_people(self.started.elapsed()));
    }
}

fn live_line(title: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(title.to_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
