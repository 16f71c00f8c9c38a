//! The clock that measures waits and stage times.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;

/// The present moment.
#[allow(
    clippy::disallowed_methods,
    reason = "commands measure real time; there is nothing to simulate"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Ask `done` every 100 ms until it answers true. False: `limit` passed first.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> Result<bool>) -> Result<bool> {
    let deadline = now() + limit;
    loop {
        if done()? {
            return Ok(true);
        }
        if now() >= deadline {
            return Ok(false);
        }
        sleep(Duration::from_millis(100));
    }
}

/// A duration for people: `45s`, `2m05s`.
pub(crate) fn for_people(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{seconds}s")
    } else {
        format!("{}m{:02}s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_minutes_and_seconds() {
        assert_eq!(for_people(Duration::from_millis(900)), "0s");
        assert_eq!(for_people(Duration::from_secs(59)), "59s");
        assert_eq!(for_people(Duration::from_secs(125)), "2m05s");
    }
}
