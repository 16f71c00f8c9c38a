//! Work queues: which object is looked at next, by how many at once, and when again.

pub mod backoff;
pub mod bucket;
pub mod keys;
pub mod verdict;

pub use keys::Priority;
pub use verdict::{Turn, Verdict};
