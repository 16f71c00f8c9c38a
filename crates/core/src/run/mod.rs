//! The process around the loops: flags, admin server, telemetry, start and stop.

pub mod spawn;

pub use spawn::{Task, spawn};
