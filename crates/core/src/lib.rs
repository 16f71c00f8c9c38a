//! What every workload controller shares; this crate knows no single workload.
//!
//! Layers, from below. A file uses its own layer and lower ones, never a higher one (`cargo xtask tidy` checks it):
//!
//! 1. **pure** – values and decisions without I/O, clocks or tasks: everything not named below.
//! 2. **[`workload`]** – the trait that a controller implements.
//! 3. **machine** – [`cache`], [`continuity`], [`queue`], [`act`], [`events`], [`lease`], [`client`], [`metrics`]: each a pure step function
//!    with a thin task around it.
//! 4. **[`reconcile`]** – the loop: the one place where the order of the phases is written.
//! 5. **[`run`]** – the process around the loops.

// pure
pub mod chance;
pub mod condition;
pub mod doubts;
pub mod expectations;
pub mod freshness;
pub mod id;
pub mod labels;
pub mod meta;
pub mod mistake;
pub mod number;
pub mod opt_in;
pub mod outcome;
pub mod owner;
pub mod plan;
pub mod pod;
pub mod rank;
pub mod revision;
pub mod selector;
pub mod template;
pub mod time;

// the trait
pub mod workload;

// machine
pub mod act;
pub mod cache;
pub mod client;
pub mod continuity;
pub mod events;
pub mod lease;
pub mod metrics;
pub mod queue;

// the loop and the process around it
pub mod reconcile;
pub mod run;
