//! Work queues: which object is looked at next, by how many at once, and when again.
//!
//! - [`keys`], [`backoff`] and [`bucket`] are pure: order, waits and limits, with the time passed in.
//! - [`shared`] is the queue that event sources and workers share; [`workers`] are the tasks.
//! - [`verdict`] is the contract with what the workers drive.

pub mod backoff;
pub mod bucket;
pub mod keys;
pub mod metrics;
pub mod shared;
pub mod verdict;
pub mod workers;

pub use keys::Priority;
pub use metrics::QueueMetrics;
pub use shared::Queue;
pub use verdict::{Turn, Verdict};
pub use workers::{Stopped, Workers};
