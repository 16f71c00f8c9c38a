//! Deliberate mistakes, each of which some history has to find.

use testkit::simulation::{Played, crashes};
use workload_core::mistake::{self, Mistake};

use crate::crashes;
use crate::histories::Histories;
use crate::points;

/// What the other tests play.
fn played() -> Played {
    let (crash, random) = (crashes::survey(), Histories::all());
    let (at_writes, by_chance) = (crashes(&crash), random.cases());
    Played::of((crash, at_writes), (random, by_chance), points::all())
}

#[test]
fn every_mistake_is_found() {
    let missed = played().missed(Mistake::JOB, mistake::make);
    assert!(missed.is_empty(), "no history finds {missed:?}");
}
