//! What Deployments do on request only.

mod hold;
mod never_grow_old;
mod replacement;
