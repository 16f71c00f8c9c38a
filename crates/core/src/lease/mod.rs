//! Leader election: one active process per controller.
//!
//! - [`elect`] is the election as a pure step; [`lock`] the Lease that candidates share.
//! - [`hold`] runs a candidacy and tells the process where it stands.
//! - [`fence`] is asked before every write whether this process may still write.

mod candidate;
pub mod elect;
pub mod fence;
pub mod hold;
pub mod lock;

pub use elect::Timing;
pub use fence::{Fence, Fenced};
pub use hold::{Campaign, Candidacy, LeaseMetrics};
pub use lock::{LeaseLock, Lock};
