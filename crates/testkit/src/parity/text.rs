//! What kubectl prints, as both halves of a comparison can share it.

use super::account::EXPLANATIONS;
use super::facts::UNDER_WAY;
use super::mask::is_time;
use super::names::Names;

/// The lines of an output, masked: names as in objects, hashes, times and durations. Columns are as wide as the longest
/// name in them, so widths do not count.
pub(super) fn lines(names: &Names, output: &str) -> Vec<String> {
    let explains = |line: &&str| {
        EXPLANATIONS
            .iter()
            .any(|reason| line.split_whitespace().nth(1) == Some(reason))
    };
    let told = output
        .lines()
        .filter(|line| !explains(line) && !line.contains(WILL_RETRY));
    told.map(|line| self::line(names, line)).collect()
}

fn line(names: &Names, line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().map(|word| self::word(names, word)).collect();
    let mut shared: Vec<&str> = Vec::new();
    let mut rest = &words[..];
    while let [word, after @ ..] = rest {
        if is_weekday(word) && after.len() >= DATE {
            // Mon, 02 Jan 2006 15:04:05 +0000
            shared.push("TIME");
            rest = &after[DATE..];
        } else {
            shared.push(word);
            rest = after;
        }
    }
    let line = shared.join(" ").replace("(x", "(").replace(" over AGE", "");
    match line.strip_prefix("Progressing ") {
        // Which of these it is depends on who was faster (see `facts`).
        Some(says) if UNDER_WAY.contains(&says) => "Progressing (under way)".to_owned(),
        Some(_) | None => line,
    }
}

/// In what kubectl says of a refusal that it waits out; whether it meets one depends on when it asks.
const WILL_RETRY: &str = "(will retry after";

/// How many words of a date follow the weekday.
const DATE: usize = 5;

fn is_weekday(word: &str) -> bool {
    ["Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,"].contains(&word)
}

fn word(names: &Names, word: &str) -> String {
    let bare = word.trim_matches(|c| matches!(c, '(' | ')' | ','));
    if is_age(bare) {
        return word.replace(bare, "AGE");
    }
    if is_time(bare) {
        return "TIME".to_owned();
    }
    match word.rsplit_once('=') {
        Some((label, hash)) if label.ends_with("pod-template-hash") => format!("{label}={}", names.hash(hash)),
        Some(_) | None => names.text(word),
    }
}

/// True for a duration as kubectl prints it: `5s`, `3m12s`, `2d`.
fn is_age(word: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    match word.strip_suffix(['s', 'm', 'h', 'd', 'y']) {
        Some(rest) => rest.split(['m', 'h', 'd', 'y']).all(is_part),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parity::samples::Samples;

    #[test]
    fn tables_and_descriptions_are_masked_word_by_word() {
        let mut state = Samples::default();
        state.set("web-65bb57b6b5", "65bb57b6b5", "u1");
        let names = Names::of(&state.state, "test-1");
        for (line, expected) in [
            ("web-65bb57b6b5   3     3   12s", "web-HASH1 3 3 AGE"),
            (
                "  Normal  A  3m12s (x4 over 5m)  test  Created pod: web-65bb57b6b5-x2k4l",
                "Normal A AGE (4) test Created pod: web-HASH1-POD",
            ),
            ("  restartedAt: 2026-01-02T03:04:05Z", "restartedAt: TIME"),
            ("Created:  Mon, 02 Jan 2006 15:04:05 +0000", "Created: TIME"),
            (
                "Labels: app=web,pod-template-hash=65bb57b6b5",
                "Labels: app=web,pod-template-hash=HASH1",
            ),
            ("Replicas: 3 desired | 2 updated", "Replicas: 3 desired | 2 updated"),
            ("  Progressing    True    ReplicaSetUpdated", "Progressing (under way)"),
            (
                "  Progressing    False   ProgressDeadlineExceeded",
                "Progressing False ProgressDeadlineExceeded",
            ),
            ("s m 5 5x", "s m 5 5x"),
        ] {
            assert_eq!(super::line(&names, line), expected);
        }
    }
}
