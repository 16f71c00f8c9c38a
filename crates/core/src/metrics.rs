//! The registry and the shared metrics.
