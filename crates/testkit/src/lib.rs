//! What the tests of every controller share.
