//! Kubernetes' Deployment and ReplicaSet controllers.

pub mod deployment;
pub mod replicaset;
