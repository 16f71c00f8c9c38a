//! Opt-ins that cannot be read.

use testkit::builders::{Manifest as _, job};

use crate::{active, conditions, counts, end, has_ended, ours_only};

/// Each opt-in with a value that means nothing, and a name that nobody knows.
const SENSELESS: [(&str, &str); 8] = [
    ("job.rule-names", r#"{"7":"NoSuchRule"}"#),
    ("job.ignored-failures-no-backoff", "perhaps"),
    ("job.bad-image-after", "soon"),
    ("job.start-deadline", "-3s"),
    ("job.ttl-failed", "1m"),
    ("job.ttl-complete", "-1"),
    ("job.on-pod-failure", "RestartAll"),
    ("job.no-such", "1"),
];

#[test]
fn what_cannot_be_read_is_told_and_the_job_is_as_ever() {
    ours_only(async |scene| {
        let mut work = job("work").backoff_limit(4).on_exit_codes("FailJob", "In", &[42]);
        for (name, value) in SENSELESS {
            work = work.opt_in(name, value);
        }
        scene.create(work).await;
        let pod = active(scene, 1).await.remove(0);
        end(scene, &pod, 42).await;
        scene.until("the end", has_ended).await;
        let both = ["FailureTarget PodFailurePolicy", "Failed PodFailurePolicy"];
        assert_eq!(scene.look(conditions), both);
        assert_eq!(scene.look(counts), [0, 0, 0, 0, 1]);
        scene
            .until("each is told once", |state| {
                let events = state.events("work", "InvalidOptIn");
                let tells = |name: &str| {
                    let about = events.iter().filter(|event| event.text("/message").contains(name));
                    about.count() == 1
                };
                events.len() == SENSELESS.len() && SENSELESS.iter().all(|(name, _)| tells(name))
            })
            .await;
        let metrics = scene.controller().unwrap().metrics().await;
        for (name, _) in SENSELESS {
            let name = if name == "job.no-such" { "unknown" } else { name };
            let labels = [("kind", "Job"), ("name", name)];
            assert_eq!(metrics.count("opt_in_invalid_total", &labels), 1, "{name}");
        }
    });
}
