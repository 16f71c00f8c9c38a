//! The HTTP stack under every request.
