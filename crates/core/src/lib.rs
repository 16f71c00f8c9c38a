//! What every workload controller shares; this crate knows no single workload.
//!
//! Three layers. An upper layer may use a lower one, never the reverse (`cargo xtask tidy` checks it):
//!
//! - **machine** – [`cache`], [`queue`], [`act`], [`events`], [`lease`], [`client`], [`run`], [`metrics`]: each a pure step
//!   function with a thin task around it.
//! - **loop** – [`workload`] (the trait that a controller implements) and [`reconcile`] (the one place where the order of
//!   the phases is written).
//! - **pure** – everything else: values and decisions without I/O, clocks or tasks.

// pure
pub mod condition;
pub mod expectations;
pub mod freshness;
pub mod id;
pub mod labels;
pub mod meta;
pub mod number;
pub mod outcome;
pub mod owner;
pub mod plan;
pub mod pod;
pub mod rank;
pub mod revision;
pub mod selector;
pub mod template;
pub mod time;

// loop
pub mod reconcile;
pub mod workload;

// machine
pub mod act;
pub mod cache;
pub mod client;
pub mod events;
pub mod lease;
pub mod metrics;
pub mod queue;
pub mod run;
