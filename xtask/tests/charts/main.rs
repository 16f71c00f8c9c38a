//! The Helm charts: lint, values, rendered manifests, packaging, and installations on a real API server.
//!
//! Helm is taken from the variable `HELM`, else from `PATH`; without it these tests say so and pass.
//! The tests of [`server`] run against the API server whose kubeconfig `WORKLOAD_TEST_OURS` names.

#[cfg(test)]
mod chart;
#[cfg(test)]
mod hardening;
#[cfg(test)]
mod helm;
#[cfg(test)]
mod packaging;
#[cfg(test)]
mod render;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod server;
#[cfg(test)]
mod values;
