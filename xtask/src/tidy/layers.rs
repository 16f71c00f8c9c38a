//! Who may use whom: core's layers, and what the pure parts of core and of the controllers may know.

use super::Report;
use super::code::{bare, first_segments, has_word, uses, without_tests};
use super::repository::{File, Repository};

const CORE: &str = "crates/core/src";

/// Core's layers, lowest first. A module may use its own layer and lower ones.
const LAYERS: [(&str, &[&str]); 5] = [
    (
        "pure",
        &[
            "chance",
            "condition",
            "doubts",
            "expectations",
            "freshness",
            "id",
            "labels",
            "meta",
            "mistake",
            "number",
            "opt_in",
            "outcome",
            "owner",
            "plan",
            "pod",
            "rank",
            "revision",
            "selector",
            "template",
            "time",
        ],
    ),
    ("trait", &["workload"]),
    (
        "machine",
        &[
            "act",
            "cache",
            "client",
            "continuity",
            "events",
            "lease",
            "metrics",
            "queue",
            "spawn",
        ],
    ),
    ("loop", &["reconcile"]),
    ("process", &["run"]),
];

/// A part of a high module that low ones need: tasks are started by it alone.
const SPAWN: (&str, &str) = ("run/spawn", "crate::run::spawn");

/// The only places that talk to a real API server.
const MAY_USE_KUBE: [&str; 5] = ["client", "cache/watch", "act/live", "lease", "events/sink"];

/// Rooms of a controller that decide without I/O.
const DECIDING_ROOMS: [&str; 5] = ["decide", "observe", "conclude", "spec", "words"];

/// What pure code must not know.
const IMPURE: [&str; 4] = ["tokio", "kube", "tracing", "std::env"];

pub(super) fn check(repository: &Repository, report: &mut Report) {
    for file in repository.rust().filter(|file| !file.is_part_of(&["tests"])) {
        let code = bare(without_tests(&file.text));
        if let Some(path) = file.below(CORE) {
            check_core(file, path, &code, report);
        }
        if file.in_controller().is_some() {
            if file.is_part_of(&DECIDING_ROOMS) {
                refuse(file, &code, &IMPURE, "a room that decides", report);
            } else {
                refuse(file, &code, &["kube"], "a controller", report);
            }
        }
        if file.below(CORE).is_some() || file.in_controller().is_some() {
            for name in ["PodSpec", "PodTemplateSpec"] {
                if has_word(&code, name) {
                    report.problem(
                        &file.path,
                        format!("{name} drops fields it does not know; templates stay JSON"),
                    );
                }
            }
        }
    }
}

fn check_core(file: &File, path: &str, code: &str, report: &mut Report) {
    let module = if is_at_or_below(path, SPAWN.0) {
        "spawn"
    } else {
        path.split(['/', '.']).next().unwrap_or(path)
    };
    if module != "lib" {
        match layer_of(module) {
            None => report.problem(
                &file.path,
                format!("module {module} belongs to no layer yet; give it one in xtask/src/tidy/layers.rs"),
            ),
            Some(layer) => check_module(file, module, layer, code, report),
        }
    }
    if !MAY_USE_KUBE.iter().any(|allowed| is_at_or_below(path, allowed)) {
        refuse(file, code, &["kube"], "this part of core", report);
    }
}

fn check_module(file: &File, module: &str, layer: usize, code: &str, report: &mut Report) {
    let name_of = |layer: usize| LAYERS.get(layer).map_or("", |(name, _)| name);
    let code = &code.replace(SPAWN.1, "crate::spawn");
    for used in modules_used(file.below(CORE).unwrap_or(""), code) {
        if let Some(upper) = layer_of(used).filter(|upper| *upper > layer) {
            let (here, there) = (name_of(layer), name_of(upper));
            report.problem(
                &file.path,
                format!("{module} ({here}) uses {used} ({there}), a higher layer"),
            );
        }
    }
    if layer == 0 {
        // The one file that reads clocks reads tokio's, so that tests can stop it.
        let refused: Vec<&str> = IMPURE
            .into_iter()
            .filter(|root| (module, *root) != ("time", "tokio"))
            .collect();
        refuse(file, code, &refused, "the pure layer", report);
    }
}

/// Top-level modules of core that a file at `path` names.
fn modules_used<'a>(path: &str, code: &'a str) -> Vec<&'a str> {
    let mut used = first_segments(code, "crate::");
    let inner = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let to_root = "super::".repeat(inner.split('/').count());
    used.extend(first_segments(code, &to_root));
    used
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|(_, modules)| modules.contains(&module))
}

/// Is `path` the file or anything in the folder of the module `module`?
fn is_at_or_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

fn refuse(file: &File, code: &str, roots: &[&str], place: &str, report: &mut Report) {
    for root in roots {
        if uses(code, root) {
            report.problem(&file.path, format!("{place} must not use {root}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which complaints does a file with this content cause?
    fn problems(path: &str, text: &str) -> Vec<String> {
        crate::tidy::problems(check, &[(path, text)])
    }

    #[test]
    fn an_upper_layer_may_use_a_lower_one() {
        assert!(
            problems(
                "crates/core/src/act/mod.rs",
                "use crate::{plan::Stage, workload::Workload, queue};"
            )
            .is_empty()
        );
        assert!(problems("crates/core/src/plan.rs", "use crate::id::Uid;").is_empty());
        assert!(problems("crates/core/src/queue/mod.rs", "use crate::run::spawn::Task;").is_empty());
        assert!(problems("crates/core/src/run/mod.rs", "use crate::reconcile::Reconciler;").is_empty());
    }

    #[test]
    fn a_lower_layer_may_not_use_an_upper_one() {
        let used_from = [
            ("crates/core/src/plan.rs", "use crate::act::Act;"),
            ("crates/core/src/plan.rs", "use super::queue::Queue;"),
            (
                "crates/core/src/revision/name.rs",
                "use super::super::workload::Workload;",
            ),
            ("crates/core/src/workload.rs", "fn f(c: crate::cache::Cache) {}"),
            ("crates/core/src/act/mod.rs", "use crate::reconcile::Reconciler;"),
            ("crates/core/src/queue/mod.rs", "use crate::run::{admin, spawn};"),
            ("crates/core/src/run/spawn.rs", "use crate::reconcile::Reconciler;"),
        ];
        for (path, text) in used_from {
            let found = problems(path, text);
            assert_eq!(found.len(), 1, "{path} {text}: {found:?}");
        }
        assert!(
            problems("crates/core/src/plan.rs", "//! See [`crate::act`].").is_empty(),
            "a link is no use"
        );
        assert!(problems("crates/core/src/plan.rs", "#[cfg(test)]\nmod tests { use crate::act; }").is_empty());
        assert!(problems("crates/core/src/plan/tests.rs", "use crate::act;").is_empty());
    }

    #[test]
    fn a_new_module_needs_a_layer() {
        assert_eq!(problems("crates/core/src/novel.rs", "").len(), 1);
    }

    #[test]
    fn pure_code_knows_neither_tasks_nor_the_network_nor_the_environment() {
        for text in [
            "use tokio::time;",
            "use kube::Api;",
            "use tracing::info;",
            "std::env::args()",
        ] {
            let found = problems("crates/a-controller/src/deployment/decide/mod.rs", text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(!problems("crates/core/src/plan.rs", text).is_empty(), "{text}");
        }
        assert!(problems("crates/core/src/time.rs", "use tokio::time;").is_empty());
        assert!(problems("crates/a-controller/src/main.rs", "use tokio::time;").is_empty());
    }

    #[test]
    fn only_the_edges_of_core_know_kube() {
        for path in [
            "client.rs",
            "client/limit.rs",
            "cache/watch.rs",
            "cache/watch/lines.rs",
            "act/live.rs",
            "lease/mod.rs",
        ] {
            assert!(
                problems(&format!("crates/core/src/{path}"), "use kube::Client;").is_empty(),
                "{path}"
            );
        }
        for path in ["cache/mod.rs", "act/mod.rs", "events/mod.rs", "run/mod.rs"] {
            assert_eq!(
                problems(&format!("crates/core/src/{path}"), "use kube::Client;").len(),
                1,
                "{path}"
            );
        }
        assert_eq!(problems("crates/a-controller/src/lib.rs", "use kube::Client;").len(), 1);
        assert!(problems("crates/testkit/src/lib.rs", "use kube::Client;").is_empty());
    }

    #[test]
    fn templates_are_never_decoded() {
        let text = "use k8s_openapi::api::core::v1::PodSpec;";
        assert_eq!(problems("crates/core/src/template.rs", text).len(), 1);
        assert_eq!(problems("crates/a-controller/src/args.rs", text).len(), 1);
        assert!(problems("crates/testkit/src/lib.rs", text).is_empty());
    }
}
