//! Leader election and the fence around writes.
