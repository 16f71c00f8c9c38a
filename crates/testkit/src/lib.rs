//! What the tests of every controller share.
//!
//! - [`builders`] make objects as JSON, the one form in which tests send them to a server or decode them.
//! - [`server`] finds the API servers that `cargo xtask test` starts.
//! - [`scenario()`] gives a test a [`Scene`]: a namespace of its own, the controller under test, and a record of every
//!   version of every object stored there.
//! - [`kubelet`] plays scheduler and kubelet: it binds pods, reports them ready or failed, and ends them.
//! - [`cluster`] lets a test stop and start the components of a cluster.
//! - [`reign`] lets upstream's controllers and ours follow one another there; [`pair`] runs two instances with one Lease.
//! - [`proxy`] stands between a controller and its server, records what is asked and makes trouble.
//! - [`parity`] plays one script twice, with the controller under test and with upstream's, and compares.
//! - [`controller`] runs the program under test with the rights of its own service account and reads its metrics.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on panics"
)]

pub mod account;
pub mod api;
pub mod builders;
pub mod cluster;
pub mod controller;
pub mod fields;
mod identity;
pub mod kubectl;
pub mod kubelet;
mod leash;
pub mod metrics;
pub mod object;
pub mod pair;
pub mod parity;
mod program;
pub mod proxy;
pub mod record;
pub mod reign;
mod rest;
mod rollout;
mod scene;
pub mod server;
pub mod simulation;
mod state;

pub use identity::Access;
pub use program::{Program, Subject, beside_upstream, fact, on, scenario, scenario_with};
pub use scene::{Scene, names};
pub use workload_core::id::Kind;
