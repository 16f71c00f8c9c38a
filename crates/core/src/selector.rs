//! Label selectors, parsed once.
