//! What Deployments do on request only.

mod backoff;
mod budgets;
mod hold;
mod invalid;
mod never_grow_old;
mod replacement;
mod together;
