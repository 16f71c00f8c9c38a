//! The `deployment-controller` binary.

fn main() {}
