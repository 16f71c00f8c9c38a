//! A controller under simulation: the same code as in production, on a machine whose time, network and API server are ours.
//!
//! - [`server`] is an API server in memory: a plain state machine that knows exactly the requests that controllers send.

pub mod server;
