//! Scenarios against a whole cluster; see `tests/`.
