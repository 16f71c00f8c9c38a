//! Events: what controllers tell people about an object, written to the API server beside the reconcile path.
//!
//! - [`recorder`] takes notes and never waits; [`scribe`] is the task behind it.
//! - [`series`] decides, without I/O, which notes become an event and which raise the count of an earlier one.
//! - [`sink`] writes core/v1 Events.

mod recent;
pub mod recorder;
pub mod scribe;
pub mod series;
pub mod sink;

pub use recorder::{EventMetrics, Feed, Recorder, Said, recorder};
pub use scribe::{Finish, Scribe};
pub use sink::{ApiSink, Sink};
