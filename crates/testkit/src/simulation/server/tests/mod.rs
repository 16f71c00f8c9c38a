//! Rules of the in-memory server, one by one.
