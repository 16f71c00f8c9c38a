//! Numbers with rules: counts of replicas, and counts or percentages with an explicit rounding direction.
