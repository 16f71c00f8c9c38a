//! Which pods go first on scale-down.
