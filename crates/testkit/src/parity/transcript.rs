//! The same kubectl commands on both stages, and what they print compared.

use std::collections::BTreeSet;

use super::names::Names;
use super::{text, until_equal};
use crate::kubectl::Output;
use crate::program::{Program, side_by_side};
use crate::scene::Scene;

/// What of an output has an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// All of it, but events: they are compared as a set.
    InOrder,
    /// Nothing: objects are listed by their names, and these are random, or lines are repeated while something takes time.
    AnyOrder,
}

/// The commands that a script has run.
#[derive(Default)]
pub struct Transcript {
    entries: Vec<Entry>,
}

struct Entry {
    command: String,
    output: Output,
    lines: Lines,
}

impl Transcript {
    /// Runs kubectl in the scene's namespace and takes note of what it prints.
    pub async fn run(&mut self, scene: &Scene, args: &[&str]) {
        self.run_as(scene, Lines::InOrder, args).await;
    }

    /// As [`Transcript::run`], for an output with lines in this order.
    pub async fn run_as(&mut self, scene: &Scene, lines: Lines, args: &[&str]) {
        self.entries.push(Entry {
            command: args.join(" "),
            output: scene.kubectl(args).await,
            lines,
        });
    }

    fn masked(&self, scene: &Scene) -> Vec<String> {
        let names = scene.look(|state| Names::of(state, scene.namespace()));
        self.entries.iter().flat_map(|entry| entry.masked(&names)).collect()
    }
}

impl Entry {
    fn masked(&self, names: &Names) -> Vec<String> {
        let mut masked = vec![format!("$ kubectl {}", names.text(&self.command))];
        let succeeded = self.output.succeeded;
        masked.push(if succeeded { "(success)" } else { "(failure)" }.to_owned());
        for output in [&self.output.stdout, &self.output.stderr] {
            masked.extend(ordered(text::lines(names, output), self.lines));
        }
        masked
    }
}

fn ordered(mut lines: Vec<String>, order: Lines) -> Vec<String> {
    let in_order = match order {
        Lines::AnyOrder => 0,
        Lines::InOrder => lines.iter().position(|line| line == "Events:").unwrap_or(lines.len()),
    };
    let rest: BTreeSet<_> = lines.split_off(in_order).into_iter().collect();
    lines.extend(rest);
    lines
}

/// Performs `script` on both stages at once and fails if kubectl prints something else in every performance. Without servers
/// the test is skipped, and says so.
pub fn kubectl_parity(program: &Program, script: &impl AsyncFn(&Scene, &mut Transcript)) {
    until_equal(|| {
        let mut found = Vec::new();
        side_by_side(program, async |ours, upstream| {
            let half = async |scene: &Scene| {
                let mut transcript = Transcript::default();
                script(scene, &mut transcript).await;
                transcript.masked(scene)
            };
            let (ours, upstream) = futures::join!(half(ours), half(upstream));
            found = differences(&ours, &upstream);
        });
        found
    });
}

/// The lines from the first to the last that differs, ours marked by `-`, upstream's by `+`.
fn differences(ours: &[String], upstream: &[String]) -> Vec<String> {
    let same = |(our, their): &(&String, &String)| our == their;
    let before = ours.iter().zip(upstream).take_while(same).count();
    let (ours, upstream) = (&ours[before..], &upstream[before..]);
    let after = ours.iter().rev().zip(upstream.iter().rev()).take_while(same).count();
    let marked = |mark: &str, lines: &[String]| {
        let differing = &lines[..lines.len() - after];
        differing
            .iter()
            .map(|line| format!("{mark} {line}"))
            .collect::<Vec<_>>()
    };
    [marked("-", ours), marked("+", upstream)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(differences(&words("a b c d"), &words("a b c d")), [""; 0]);
        assert_eq!(differences(&words("a x c d"), &words("a b c d")), ["- x", "+ b"]);
        assert_eq!(differences(&words("a b"), &words("a b b")), ["+ b"]);
        assert_eq!(differences(&words("a b b"), &words("a b")), ["- b"]);
    }

    #[test]
    fn events_have_no_order_and_other_lines_have_one_unless_it_is_random() {
        assert_eq!(
            ordered(words("b a Events: d c c"), Lines::InOrder),
            words("b a Events: c d")
        );
        assert_eq!(ordered(words("b a c b"), Lines::AnyOrder), words("a b c"));
    }
}
