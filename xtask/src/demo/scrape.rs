//! Reading the controller's own metrics.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What `/metrics` at `address` says.
pub(crate) fn metrics(address: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address).with_context(|| format!("the admin server at {address}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Sums the samples of `series` by the value of `label`.
pub(crate) fn by_label(metrics: &str, series: &str, label: &str) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for (labels, value) in samples(metrics, series) {
        let of = labels
            .split(',')
            .find_map(|pair| pair.strip_prefix(label)?.strip_prefix("=\""));
        if let Some(of) = of {
            *sums.entry(of.trim_end_matches('"').to_owned()).or_default() += value;
        }
    }
    sums
}

/// The sum of all samples of `series`.
pub(crate) fn sum(metrics: &str, series: &str) -> f64 {
    samples(metrics, series).map(|(_, value)| value).sum()
}

/// The sum of those samples of `series` that have all these labels.
pub(crate) fn sum_where(metrics: &str, series: &str, labels: &[(&str, &str)]) -> f64 {
    let wanted: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{value}\""))
        .collect();
    samples(metrics, series)
        .filter(|(labels, _)| {
            let has = |pair: &String| labels.split(',').any(|label| label == pair);
            wanted.iter().all(has)
        })
        .map(|(_, value)| value)
        .sum()
}

/// Labels (without braces) and value of each sample.
fn samples<'a>(metrics: &'a str, series: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
    metrics.lines().filter_map(move |line| {
        let rest = line.strip_prefix(series)?;
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => rest.split_once("} ")?,
            None => ("", rest.strip_prefix(' ')?),
        };
        Some((labels, value.trim().parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "# HELP requests_total x\nrequests_total{code=\"200\",method=\"GET\"} 3\n\
                           requests_total{code=\"409\",method=\"GET\"} 1\nrequests_total{code=\"200\",method=\"POST\"} 2\n\
                           requests_total_more 9\nmemory 12.5\n";

    #[test]
    fn samples_are_summed_by_a_label() {
        let sums = by_label(METRICS, "requests_total", "method");
        assert_eq!(
            sums.into_iter().collect::<Vec<_>>(),
            [("GET".to_owned(), 4.0), ("POST".to_owned(), 2.0)]
        );
    }

    #[test]
    fn samples_are_summed_that_have_all_labels() {
        let count = |labels: &[(&str, &str)]| sum_where(METRICS, "requests_total", labels);
        assert!((count(&[("method", "GET")]) - 4.0).abs() < f64::EPSILON);
        assert!((count(&[("code", "200"), ("method", "GET")]) - 3.0).abs() < f64::EPSILON);
        assert!(count(&[("code", "20"), ("method", "GET")]).abs() < f64::EPSILON);
    }

    #[test]
    fn a_series_is_not_taken_for_a_longer_one() {
        assert!((sum(METRICS, "requests_total") - 6.0).abs() < f64::EPSILON);
        assert!((sum(METRICS, "memory") - 12.5).abs() < f64::EPSILON);
    }
}
