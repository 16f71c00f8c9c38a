//! Parity: one script, played to the end by the program under test and by kube-controller-manager, and what came of it
//! compared.
//!
//! A script is written once against a [`Scene`] and performed on two: it makes and changes objects, plays kubelet, and waits
//! for states. Then these must be equal, after masking: the objects that are left; the histories of single facts, such as
//! the sizes of each ReplicaSet; the events as a set. And the program under test must not have written more often.
//!
//! Masked are uids, versions, times, managed fields, values of pod-template-hash and names derived from them, random name
//! parts, the name of the scene's namespace, and messages of conditions. Left out are events that only explain, the words of
//! events that nobody parses, the mark of combined events, and what a momentary state decides (see `account` and `facts`); of
//! kubectl's output also how often `drain` had to ask.

mod account;
mod budget;
mod difference;
mod facts;
mod mask;
mod names;
#[cfg(test)]
mod samples;
mod text;
mod transcript;

use std::time::Duration;

pub use self::transcript::{Lines, Transcript, kubectl_parity};

use self::account::Account;
use self::budget::Budget;
use self::difference::differences;
use crate::program::{Program, side_by_side};
use crate::scene::Scene;

/// How long nobody may write before a script counts as over.
const QUIET: Duration = Duration::from_secs(1);
/// Events arrive when they like; this is the longest that one is waited for.
const EVENTS: Duration = Duration::from_secs(30);
/// How often events are looked at meanwhile.
const POLL: Duration = Duration::from_millis(200);

/// How often a script is played at most. On a busy machine a step can end before both halves have come to rest, and then the
/// next one meets them in different states: one performance without a difference is enough.
const PERFORMANCES: usize = 5;

/// How a script moves on, which decides what of its histories is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// One step at a time: whatever it does, it lets the controllers come to rest before the next step
    /// ([`Scene::serve_pods`], [`Scene::until_at_rest`]). Conditions and status writes are compared too.
    Stepwise,
    /// Things happen as fast as they can. Who is faster sees more of what is so in between, and may tell it.
    Own,
}

/// Performs `script` on both stages at once and fails if they end differently in every performance. Without servers the test is
/// skipped, and says so.
pub fn parity(program: &Program, pace: Pace, script: &impl AsyncFn(&Scene)) {
    let mut budget = Budget::default();
    until_equal(|| {
        let mut found = Vec::new();
        side_by_side(program, async |ours, upstream| {
            let half = async |scene: &Scene| {
                script(scene).await;
                scene.until_quiet_for(QUIET).await;
            };
            futures::join!(half(ours), half(upstream));
            let (ours, upstream) = accounts(ours, upstream, pace).await;
            budget.add(&ours, &upstream);
            found = differences(&ours, &upstream);
            found.extend(budget.surplus());
        });
        found
    });
}

/// Plays until there is no difference any more; fails with the last ones.
#[allow(clippy::print_stderr, reason = "libtest shows it with the failed test")]
fn until_equal(mut performance: impl FnMut() -> Vec<String>) {
    for number in 1..=PERFORMANCES {
        let found = performance();
        if found.is_empty() {
            return;
        }
        let told = format!(
            "performance {number}, {} differences:\n{}",
            found.len(),
            found.join("\n")
        );
        assert!(number < PERFORMANCES, "{told}");
        eprintln!("{told}");
    }
}

/// What both stages came to, once they have told the same events, or have had the time for it.
async fn accounts(ours: &Scene, upstream: &Scene, pace: Pace) -> (Account, Account) {
    let account = |scene: &Scene| scene.look(|state| Account::of(state, scene.namespace(), pace));
    let equal = async {
        while account(ours).events != account(upstream).events {
            tokio::time::sleep(POLL).await;
        }
    };
    // What is still missing then is a difference.
    let _ = tokio::time::timeout(EVENTS, equal).await;
    (account(ours), account(upstream))
}
