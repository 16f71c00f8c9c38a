//! Carries out plans.
