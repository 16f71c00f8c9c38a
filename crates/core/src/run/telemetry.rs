//! Log lines: constant messages with key-value fields, on standard error.

use anyhow::anyhow;
use tracing_subscriber::EnvFilter;

use crate::run::args::LogFormat;

/// Writes log lines that pass `filter` in this format from now on.
pub fn start(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = parse(filter).map_err(|error| anyhow!(error))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow!("failed to start logging: {error}"))
}

fn parse(filter: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(filter).map_err(|error| error.to_string())
}

/// A filter as a flag has it: checked, as text.
pub(super) fn checked(filter: &str) -> Result<String, String> {
    parse(filter).map(|_| filter.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_level_or_names_modules() {
        for filter in ["info", "warn,workload_core::cache=debug"] {
            assert_eq!(checked(filter).as_deref(), Ok(filter));
        }
        assert!(checked("workload_core=loud").is_err());
    }
}
