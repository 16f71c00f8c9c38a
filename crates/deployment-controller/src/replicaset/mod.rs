//! The ReplicaSet controller: keeps as many pods of one template as a ReplicaSet wants.

pub mod spec;
