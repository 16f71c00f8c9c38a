//! Names and hashes of revisions.

pub mod hash;

pub use hash::TemplateHash;
