//! What Deployments do on request only.

mod replacement;
