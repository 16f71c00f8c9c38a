//! What controllers ask of a pod: a compact view decoded from its JSON.
