//! Read-your-writes: an owner is not looked at while a cache is older than our own last write for it (deployment C-30…C-35).
