//! Names and hashes of revisions.
