//! Scenarios against a whole cluster; they stand in `tests/`.
