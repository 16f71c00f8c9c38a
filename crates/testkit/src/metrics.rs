//! Metrics in Prometheus' text format, as the program under test serves them.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// All series of one scrape.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    series: Vec<Series>,
}

#[derive(Debug, Clone, PartialEq)]
struct Series {
    name: String,
    labels: Vec<(String, String)>,
    value: String,
}

impl Metrics {
    /// Reads the text format. Lines that are no series are left out.
    pub fn parse(text: &str) -> Self {
        Self {
            series: text.lines().filter_map(Series::parse).collect(),
        }
    }

    /// The sum of all series of that name that carry these labels; 0 without any. For counters and gauges of whole numbers.
    pub fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let fits = |series: &&Series| series.name == name && labels.iter().all(|label| series.has(*label));
        self.series
            .iter()
            .filter(fits)
            .map(|series| series.value.parse::<u64>().expect("a whole number"))
            .sum()
    }

    /// True if there is a series of that name with these labels.
    pub fn has(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        self.series
            .iter()
            .any(|series| series.name == name && labels.iter().all(|label| series.has(*label)))
    }
}

impl Series {
    fn parse(line: &str) -> Option<Self> {
        if line.starts_with('#') {
            return None;
        }
        let (head, value) = line.rsplit_once(' ')?;
        let value = value.to_owned();
        let Some((name, labels)) = head.split_once('{') else {
            return Some(Self {
                name: head.to_owned(),
                labels: Vec::new(),
                value,
            });
        };
        let labels = labels.strip_suffix('}')?;
        let label = |pair: &str| {
            let (key, value) = pair.split_once("=\"")?;
            Some((key.trim_start_matches(',').to_owned(), value.to_owned()))
        };
        let labels = labels.split_terminator('"').collect::<Vec<_>>();
        let labels = labels.chunks(2).filter_map(|pair| label(&pair.join("\""))).collect();
        Some(Self {
            name: name.to_owned(),
            labels,
            value,
        })
    }

    fn has(&self, (key, value): (&str, &str)) -> bool {
        self.labels
            .iter()
            .any(|(known, content)| known == key && content == value)
    }
}

/// The status and body of a GET over plain HTTP; `None` if nobody answers.
pub(crate) async fn get(address: &str, path: &str) -> Option<(u16, String)> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    };
    tokio::time::timeout(Duration::from_secs(10), exchange).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_found_by_name_and_labels() {
        let metrics = Metrics::parse(
            "# HELP writes_total Writes.\n\
             writes_total{verb=\"create\",kind=\"Pod\"} 3\n\
             writes_total{verb=\"patch\",kind=\"Pod\"} 4\n\
             depth 2\n\
             # EOF\n",
        );
        assert_eq!(metrics.count("writes_total", &[("kind", "Pod")]), 7);
        assert_eq!(metrics.count("writes_total", &[("verb", "patch"), ("kind", "Pod")]), 4);
        assert_eq!(metrics.count("depth", &[]), 2);
        assert!(!metrics.has("writes_total", &[("verb", "delete")]));
    }
}
