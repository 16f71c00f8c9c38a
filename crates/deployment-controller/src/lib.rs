//! Kubernetes' Deployment and ReplicaSet controllers.
