//! The in-memory API server against a real one: the same random series of requests, sent to both, must be answered equally
//! and leave equal objects and equal histories, after masking what each server chooses for itself. `cargo xtask test` starts
//! the real server; without it every test here is skipped.
//!
//! A short run plays few long series; `PROPTEST_CASES` asks for more.
#![cfg(test)]

mod cases;
mod deed;
mod difference;
mod jobs;
mod mask;
mod pair;
mod perform;
mod series;
mod side;
mod strategies;
