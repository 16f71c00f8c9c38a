//! A controller under simulation: the same code as in production, on a machine whose time, network and API server are ours.
//!
//! - [`server`] is an API server in memory: a plain state machine that knows exactly the requests that controllers send.
//! - [`scenario`] is what a user does; [`node`] is how pods fare, [`fate`] how those end that do not run for ever.
//! - [`schedule`] is what goes wrong, and when: data, drawn from a [`seed`].
//! - [`run`] plays a story, undisturbed or disturbed, and judges it; [`oracle`] is what must hold in every history; [`trace`]
//!   is what happened, for people.
//!
//! Everything happens on one thread, on tokio's paused time, in an order that follows from the seed.

mod agenda;

mod clock;
mod connection;
pub mod fate;
mod faults;
mod judge;
mod loss;
mod mistakes;
mod network;
pub mod node;
pub mod oracle;
mod order;
mod points;
mod process;
mod run;
pub mod scenario;
pub mod schedule;
pub mod seed;
pub mod server;
mod survey;
pub mod trace;
mod user;
mod watches;
mod work;
mod world;

pub use mistakes::Played;
pub use order::Order;
pub use points::{Points, crashes};
pub use process::Controller;
pub use run::{End, History, Simulation};
pub use survey::{Case, Failure, Findings, Invented, Repertoire, Survey};
