//! The policies of a Job, each a table or a formula of its own.

pub mod backoff;
pub mod deadline;
pub mod failure;
pub mod limits;
pub mod per_index;
pub mod success;
