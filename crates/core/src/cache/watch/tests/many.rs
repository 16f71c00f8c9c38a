//! Many objects: how often the server is asked, and how often each object is handed on. Counts, no times.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::task::{Answer, Script, cache, listed, start, until};
use super::{event, page, status};
use crate::cache::sample::{Thing, key, thing};
use crate::cache::{Cache, Delta, Progress, Scope};
use crate::queue::{Priority, Queue, QueueMetrics};
use crate::time::SystemClock;
use crate::workload::RetryLimit;

const MANY: u64 = 5_000;
/// Objects in a page, as upstream's clients ask for them.
const PAGE: usize = 500;

fn name(number: u64) -> String {
    format!("thing-{number}")
}

/// Things of which each has its own number as its version.
fn things() -> Vec<Value> {
    (1..=MANY)
        .map(|number| thing(&name(number), &name(number), number))
        .collect()
}

/// Counts what subscribers are told.
fn counted(cache: &mut Cache<Thing>) -> Arc<AtomicUsize> {
    let told = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&told);
    cache.subscribe(Box::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    }));
    told
}

// proves: field/FR-XC-03, field/FR-RS-07
#[tokio::test(start_paused = true)]
async fn a_streaming_list_is_one_request_and_each_object_is_handed_on_once() {
    let script = Script::of([Answer::Open(listed(&things(), MANY))]);
    let (mut cache, _) = cache(&script, Scope::All);
    let told = counted(&mut cache);
    let (cache, _task) = start(cache);
    cache.synced().await;
    assert_eq!(cache.store().len() as u64, MANY);
    assert_eq!(told.load(Ordering::SeqCst) as u64, MANY);
    assert_eq!(script.requests().len(), 1);
}

// proves: field/FR-XC-03, field/FR-RS-01
#[tokio::test(start_paused = true)]
async fn where_streams_are_refused_as_many_pages_are_asked_for_as_it_takes() {
    let all = things();
    let pages = all.len().div_ceil(PAGE);
    let answers = all.chunks(PAGE).enumerate().map(|(at, items)| {
        let token = if at + 1 < pages { at.to_string() } else { String::new() };
        Answer::Body(200, page(MANY, &token, items))
    });
    let refusal = Answer::Body(422, status(422, "Invalid").to_string());
    let script = Script::of(std::iter::once(refusal).chain(answers));
    let (mut cache, _) = cache(&script, Scope::All);
    let told = counted(&mut cache);
    let (cache, _task) = start(cache);
    cache.synced().await;
    until(|| script.requests().len() > pages + 1).await;
    assert_eq!(
        script.requests().len(),
        pages + 2,
        "the refused stream, the pages, the watch"
    );
    assert_eq!(
        (cache.store().len() as u64, told.load(Ordering::SeqCst) as u64),
        (MANY, MANY)
    );
}

// proves: field/FR-RS-01
#[tokio::test(start_paused = true)]
async fn a_list_taken_anew_keeps_what_has_not_changed_and_hands_on_only_the_rest() {
    let mut second = things();
    second.pop();
    second[0] = thing(&name(1), &name(1), MANY + 1);
    let script = Script::of([
        Answer::Open(listed(&things(), MANY)),
        Answer::Open(listed(&second, MANY + 2)),
    ]);
    let (mut cache, _) = cache(&script, Scope::All);
    let told = counted(&mut cache);
    let (cache, _task) = start(cache);
    cache.synced().await;
    let store = cache.store();
    let before: BTreeMap<_, _> = store
        .in_namespace("shop")
        .into_iter()
        .map(|thing| (thing.text(), thing))
        .collect();
    cache.refresh();
    cache.synced().await;
    assert_eq!(script.requests().len(), 2);
    assert_eq!(
        told.load(Ordering::SeqCst) as u64,
        MANY + 2,
        "one has changed, one is gone"
    );
    let same = |thing: &Arc<Thing>| before.get(&thing.text()).is_some_and(|old| Arc::ptr_eq(old, thing));
    let kept = store.in_namespace("shop").iter().filter(|thing| same(thing)).count();
    assert_eq!(kept as u64, MANY - 2, "no second copy is kept of what is the same");
}

// proves: field/FR-RS-02
#[tokio::test(start_paused = true)]
async fn a_burst_of_events_is_taken_in_though_nobody_works() {
    let burst = 10_000;
    let events = (1..=burst).map(|number| event("ADDED", &thing(&name(number), &name(number), number)));
    let script = Script::of([Answer::Open(listed(&[], 0).into_iter().chain(events).collect())]);
    let (mut cache, metrics) = cache(&script, Scope::All);
    let queues = metrics.register(QueueMetrics::register);
    let queue = Queue::new("things", RetryLimit::Unlimited, Arc::new(SystemClock), &queues);
    queue.open();
    let line = queue.clone();
    cache.subscribe(Box::new(move |delta| {
        if let Delta::Applied { new, .. } = delta {
            line.add(key(&new.text()), Priority::Live);
        }
    }));
    let (cache, _task) = start(cache);
    let store = cache.store();
    until(|| {
        store
            .seen()
            .is_some_and(|version| version.as_str() == burst.to_string())
    })
    .await;
    let depth = format!("workqueue_depth{{name=\"things\"}} {burst}");
    assert!(metrics.text().unwrap().contains(&depth), "all are in line");
}
