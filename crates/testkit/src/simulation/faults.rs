//! Faults, carried out.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::json;
use workload_core::id::ObjectKey;
use workload_core::plan::Address;
use workload_core::time::{Clock as _, to_api};

use super::network::{Cut, Lag};
use super::schedule::{Fault, Plural, Schedule, When};
use super::server::Part;
use super::watches::End;
use super::world::{Event, World};
use crate::api::LEASE;

/// How long a kind's watches stay slow.
const LAGGING: Duration = Duration::from_mins(1);
/// How long a watch that is about to expire is not told anything.
const SILENT: Duration = Duration::from_secs(4);

/// The faults that are still to come with a request.
#[derive(Default)]
pub(super) struct Plan {
    writes: BTreeMap<u64, Vec<Fault>>,
    requests: BTreeMap<u64, Vec<Fault>>,
    next_write: VecDeque<Fault>,
}

impl Plan {
    pub(super) fn at_request(&mut self, number: u64) -> Vec<Fault> {
        self.requests.remove(&number).unwrap_or_default()
    }

    pub(super) fn at_write(&mut self, number: u64) -> Vec<Fault> {
        let mut due = self.writes.remove(&number).unwrap_or_default();
        due.extend(self.next_write.pop_front());
        due
    }

    /// A fault of a request whose turn has come without one.
    pub(super) fn with_next_write(&mut self, fault: Fault) {
        self.next_write.push_back(fault);
    }
}

impl World {
    /// A fault has come about.
    pub(super) fn count(&mut self, fault: Fault) {
        *self.met.entry(fault.word()).or_default() += 1;
    }

    /// Puts a schedule on the agenda.
    pub(super) fn expect_trouble(&mut self, schedule: &Schedule) {
        for planned in &schedule.0 {
            match planned.when {
                When::At(at) => {
                    self.later(at, Event::Fault(planned.fault));
                    self.busy_for(at);
                }
                When::Write(number) => self.plan.writes.entry(number).or_default().push(planned.fault),
                When::Request(number) => self.plan.requests.entry(number).or_default().push(planned.fault),
            }
        }
    }

    /// Something goes wrong.
    pub(super) fn happen(&mut self, fault: Fault) {
        self.tell("fault", &fault.to_string());
        if !fault.is_of_a_request() {
            self.count(fault);
        }
        self.disturbed();
        match fault {
            Fault::Kill(replica) => self.kill(replica),
            Fault::Stop(replica) => self.stop(replica),
            Fault::Freeze(replica, by) => {
                self.freeze(replica, by);
                self.busy_for(by);
            }
            Fault::Cut(replica, lines, by) => {
                let until = self.now() + by;
                self.network.cuts.push(Cut { replica, lines, until });
                self.break_lines(replica, lines);
                self.busy_for(by);
            }
            Fault::Lag(replica, kind, by) => {
                let until = self.now() + LAGGING;
                self.network.lags.push(Lag {
                    replica,
                    kind,
                    by,
                    until,
                });
                self.busy_for(LAGGING + by);
            }
            Fault::Close(replica, kind) => self.end_watches_of(replica, kind, End::Closed),
            Fault::Break(replica, kind) => self.end_watches_of(replica, kind, End::Broken),
            Fault::Expire(replica, kind) => {
                let until = self.now() + SILENT;
                let by = LAGGING;
                self.network.lags.push(Lag {
                    replica,
                    kind,
                    by,
                    until,
                });
                self.later(SILENT, Event::Expire(replica, kind));
                self.busy_for(SILENT);
            }
            Fault::Jump(replica, seconds) => self.jump_clock(replica, seconds),
            Fault::Steal => self.steal(),
            Fault::Fail(pick, code) => self.fail_pod(pick, code),
            Fault::Remove(pick) => self.remove_pod(pick, Self::deleted_by_user),
            Fault::Evict(pick) => self.remove_pod(pick, Self::evict_pod),
            Fault::Unready(pick, by) => self.unready_pod(pick, by),
            Fault::Hang(by) => self.node.hang_next(by),
            Fault::Reject => self.node.reject_next(),
            Fault::Lose(pick, by, then) => self.lose_node(pick, by, then),
            Fault::Crash(_)
            | Fault::Reset(_)
            | Fault::Silence(_)
            | Fault::Answer(..)
            | Fault::Slow(_)
            | Fault::Late(_) => self.plan.with_next_write(fault),
        }
    }

    /// The server forgets what there was, and with it the watches that have not been told.
    pub(super) fn expire(&mut self, replica: usize, kind: Plural) {
        self.disturbed();
        self.server.compact(self.server.version());
        self.end_watches_of(replica, kind, End::Expired);
    }

    /// What is due at a time is late by as much as a clock is put back.
    fn jump_clock(&mut self, replica: usize, seconds: i64) {
        self.jump(replica, seconds);
        if let Ok(back) = u64::try_from(seconds.saturating_neg()) {
            self.excused_until = self.excused_until.max(self.now() + Duration::from_secs(back));
        }
    }

    /// Somebody who does nothing takes the lease, if there is one.
    fn steal(&mut self) {
        let lease = self.server.list(LEASE).into_iter().next();
        let Some(lease) = lease else { return };
        let now = self.clock.now();
        let address = Address {
            kind: LEASE,
            key: ObjectKey::new(lease.text("/metadata/namespace"), lease.name()),
        };
        let micro = to_api(now).replace('Z', ".000000Z");
        let spec =
            json!({"holderIdentity": "thief", "leaseDurationSeconds": 15, "renewTime": micro, "acquireTime": micro});
        let stolen = self.server.merge(&address, Part::Main, json!({"spec": spec}), now);
        stolen.expect("anybody may write the lease");
        self.absorb();
    }
}
