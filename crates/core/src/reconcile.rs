//! The loop: the one place where the order of the phases is written.
