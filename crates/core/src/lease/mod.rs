//! Leader election: one active process per controller.

pub mod fence;

pub use fence::{Fence, Fenced};
