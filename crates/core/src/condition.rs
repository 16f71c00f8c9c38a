//! Conditions: set and merged with transition times that move only when the status does.
