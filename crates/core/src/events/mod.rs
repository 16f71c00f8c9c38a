//! Events: notes for people, deduplicated and never in the way.
