//! Events: what controllers tell people about an object, written to the API server beside the reconcile path.

pub mod recorder;

pub use recorder::{EventMetrics, Feed, Recorder, Said, recorder};
