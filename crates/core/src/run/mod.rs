//! The process around the loops: flags, admin server, telemetry, start and stop.

pub mod admin;
pub mod args;
pub mod process;
pub mod signals;
pub mod site;
pub mod spawn;
pub mod start;
pub mod telemetry;

pub use args::{LoopArgs, RunArgs};
pub use process::{Ended, Parts, Process, Program};
pub use site::{Due, Site, Wakes};
pub use spawn::{Gate, Task, spawn};
pub use start::{Calls, main};

#[cfg(test)]
mod tests;
