//! The smallest part of a schedule that still shows a failure.

use super::Schedule;

/// Leaves faults out, one after the other, as long as `fails` says that the rest still fails.
pub fn shrunk(schedule: &Schedule, mut fails: impl FnMut(&Schedule) -> bool) -> Schedule {
    let mut kept = schedule.clone();
    let mut at = 0;
    while at < kept.0.len() {
        let mut fewer = kept.clone();
        fewer.0.remove(at);
        if fails(&fewer) {
            kept = fewer;
            at = 0;
        } else {
            at += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, Planned, When};
    use super::*;

    #[test]
    fn what_the_failure_does_not_need_is_left_out() {
        let planned = |n| Planned {
            when: When::Write(n),
            fault: Fault::Steal,
        };
        let schedule = Schedule((1..=6).map(planned).collect());
        let needs = |schedule: &Schedule| [2, 5].iter().all(|n| schedule.0.contains(&planned(*n)));
        assert_eq!(shrunk(&schedule, needs), Schedule(vec![planned(2), planned(5)]));
    }
}
