//! The table of a chart's values.
//!
//! A comment that begins with `# --` describes the key below it; the lines of the comment that follow belong to it.
//! The default is the key's value, a block written in YAML's flow style. A reader for this one purpose: values.yaml
//! files are ours, so only what they use is understood (mappings, lists, scalars on one line).

use super::readme::row;

/// The described values, in the order of the file, as a Markdown table.
pub(super) fn table(values: &str) -> String {
    let mut table = row(&["Value", "Default", "Meaning"]);
    table.push_str("|---|---|---|\n");
    for value in described(values) {
        table.push_str(&row(&[
            &format!("`{}`", value.path),
            &format!("`{}`", value.default),
            &value.meaning,
        ]));
    }
    table
}

#[derive(Debug, PartialEq)]
struct Value {
    path: String,
    default: String,
    meaning: String,
}

fn described(text: &str) -> Vec<Value> {
    let lines: Vec<&str> = text.lines().collect();
    let mut values = Vec::new();
    let mut parents: Vec<(usize, &str)> = Vec::new();
    let mut comment: Option<String> = None;
    for (index, line) in lines.iter().enumerate() {
        if let Some(words) = line.trim_start().strip_prefix('#') {
            comment = match (comment, words.trim_start().strip_prefix("--")) {
                (_, Some(first)) => Some(first.trim().to_owned()),
                (Some(so_far), None) => Some(format!("{so_far} {}", words.trim())),
                (None, None) => None,
            };
        } else if let Some((key, value)) = key_and_value(line) {
            let depth = indentation(line);
            parents.retain(|(above, _)| *above < depth);
            parents.push((depth, key));
            if let Some(meaning) = comment.take() {
                let path = parents.iter().map(|(_, key)| *key).collect::<Vec<_>>().join(".");
                let default = if value.is_empty() {
                    block_after(&lines, index, depth)
                } else {
                    value.to_owned()
                };
                values.push(Value { path, default, meaning });
            }
        } else {
            comment = None;
        }
    }
    values
}

/// `key: value` or `key:`; not a list's item.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (key, value) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    (!key.starts_with(['-', '"', '{', '['])).then(|| (key, without_comment(value.trim())))
}

fn without_comment(value: &str) -> &str {
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn block_after(lines: &[&str], index: usize, depth: usize) -> String {
    let block: Vec<&str> = lines
        .iter()
        .skip(index + 1)
        .take_while(|line| line.trim().is_empty() || indentation(line) > depth)
        .copied()
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .collect();
    if block.is_empty() {
        "null".to_owned()
    } else {
        flow(&block)
    }
}

/// A block in flow style: `[a, b]` or `{a: 1}`.
fn flow(block: &[&str]) -> String {
    let depth = block.first().map_or(0, |line| indentation(line));
    let mut entries: Vec<Vec<&str>> = Vec::new();
    for line in block {
        match entries.last_mut() {
            Some(entry) if indentation(line) > depth => entry.push(line),
            _ => entries.push(vec![line]),
        }
    }
    let is_list = block.first().is_some_and(|line| line.trim_start().starts_with('-'));
    let parts: Vec<String> = entries
        .iter()
        .map(|entry| if is_list { item(entry) } else { member(entry) })
        .collect();
    if is_list {
        format!("[{}]", parts.join(", "))
    } else {
        format!("{{{}}}", parts.join(", "))
    }
}

/// One item of a list: a scalar, or a mapping whose first key stands behind the dash.
fn item(entry: &[&str]) -> String {
    let Some((first, rest)) = entry.split_first() else {
        return String::new();
    };
    let undashed = first.replacen('-', " ", 1);
    if rest.is_empty() && key_and_value(&undashed).is_none() {
        return undashed.trim().to_owned();
    }
    let lines: Vec<&str> = std::iter::once(undashed.as_str()).chain(rest.iter().copied()).collect();
    flow(&lines)
}

fn member(entry: &[&str]) -> String {
    match entry.split_first() {
        Some((line, [])) => without_comment(line.trim()).to_owned(),
        Some((line, rest)) => format!("{} {}", line.trim(), flow(rest)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &str, expected: &[(&str, &str, &str)]) {
        let found = described(values);
        let found: Vec<_> = found
            .iter()
            .map(|v| (v.path.as_str(), v.default.as_str(), v.meaning.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn keys_are_named_by_their_whole_path() {
        let values = "\
# -- How many.
replicas: 2

image:
  # -- Where from,
  # and in which words.
  repository: ghcr.io/x # why
  tag: \"\"
admin:
  # -- A port.
  port: 8080
";
        let expected = [
            ("replicas", "2", "How many."),
            ("image.repository", "ghcr.io/x", "Where from, and in which words."),
            ("admin.port", "8080", "A port."),
        ];
        check(values, &expected);
    }

    #[test]
    fn a_comment_without_dashes_describes_nothing() {
        check("# Only for readers.\nreplicas: 2\n# -- Lost.\n\nother: 1\n", &[]);
    }

    #[test]
    fn blocks_are_written_in_flow_style() {
        let values = "\
# -- Loops.
controllers:
  - deployment
  - replicaset
# -- Taints.
tolerations:
  - key: a
    operator: Exists
  - key: b
# -- Labels.
labels:
  a/b: \"\"
  c: {}
  d:
    - 1
# -- Nothing.
empty:
";
        let expected = [
            ("controllers", "[deployment, replicaset]", "Loops."),
            ("tolerations", "[{key: a, operator: Exists}, {key: b}]", "Taints."),
            ("labels", "{a/b: \"\", c: {}, d: [1]}", "Labels."),
            ("empty", "null", "Nothing."),
        ];
        check(values, &expected);
    }
}
