//! Kubernetes' Deployment and ReplicaSet controllers.

pub mod replicaset;
