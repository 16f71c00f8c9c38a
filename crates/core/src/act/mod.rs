//! Carries out plans: the only part of a controller that writes.
//!
//! - [`body`], [`names`], [`slow_start`], [`classify`] are pure: what a request contains, how a new object is named, how
//!   big a batch is, what an answer means.
//! - [`live`] sends one request and knows paths, content types and the write deadline.
//! - [`executor`] runs the stages of a plan in order, settles them in the [`ledger`] and tells the [`crate::events`]
//!   recorder what was done.

pub mod body;
mod claims;
pub mod classify;
mod creates;
pub mod executor;
pub mod ledger;
pub mod live;
pub mod metrics;
pub mod names;
mod patches;
mod proof;
mod refusals;
mod removals;
pub mod slow_start;

pub use executor::Executor;
pub use ledger::Ledger;
pub use live::Live;

#[cfg(test)]
pub(crate) mod tests;
