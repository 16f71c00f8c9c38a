//! What kubectl shows of objects as a table: a row for each change.

use std::fmt::Display;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::Value;

use super::stage::Stage;
use crate::clock;

/// The longest that anything in the demo may take, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a row shows.
pub(crate) trait Row: Display + PartialEq + Sized {
    /// The names of its columns.
    const HEADER: &str;
    /// What kubectl is asked to get.
    const ARGS: &[&str];

    /// From the list that `kubectl get` prints. None: there is nothing to show yet.
    fn of(list: &Value) -> Option<Self>;
}

/// Prints rows until `done`.
pub(crate) fn follow<R: Row>(stage: &mut Stage, mut done: impl FnMut(&R) -> bool) -> Result<()> {
    println!();
    println!("   time {}", R::HEADER);
    let started = clock::now();
    let args = [&["get", "--output=json"], R::ARGS].concat();
    let mut shown: Option<R> = None;
    let finished = clock::wait_until(PATIENCE, || {
        stage.check()?;
        let list = stage.quietly(&args)?;
        let Some(row) = R::of(&serde_json::from_str(&list)?) else {
            return Ok(false);
        };
        let is_done = done(&row);
        if shown.as_ref() != Some(&row) {
            println!("{:>6.1}s {row}", started.elapsed().as_secs_f64());
            shown = Some(row);
        }
        Ok(is_done)
    })?;
    if !finished {
        bail!("it did not get there within {}", clock::for_people(PATIENCE));
    }
    println!();
    Ok(())
}

/// The number at a JSON pointer; 0 if there is none.
pub(crate) fn number(item: &Value, pointer: &str) -> i64 {
    item.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}
