//! What the controllers decide and report, held against tables and laws: no API server, no clock, no tasks.
#![cfg(test)]

mod job;
