//! Kubernetes' Job and TTL-after-finished controllers.

pub mod job;
