//! What the controllers decide and report, held against tables and laws: no API server, no clock, no tasks.
#![cfg(test)]
#![allow(clippy::needless_pass_by_value, reason = "values are written as json! in place")]

mod job;
mod orphans;
mod ttl;
