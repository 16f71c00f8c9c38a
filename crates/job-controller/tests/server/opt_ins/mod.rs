//! What Jobs do on request only, each beside what they do without: that part is held against upstream too.

mod group;
mod invalid;
mod names;
mod pods;
mod ttl;
