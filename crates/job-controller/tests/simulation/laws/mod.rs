//! What must hold at every moment, whatever goes wrong, and in the end.

mod account;
mod facts;
mod pods;

use testkit::simulation::oracle::Oracle;
use testkit::simulation::schedule::Schedule;

use self::account::Account;
use self::pods::Pods;

/// The laws of every story.
pub(crate) fn all(_schedule: &Schedule) -> Vec<Box<dyn Oracle>> {
    vec![Box::new(Account::default()), Box::new(Pods::default())]
}
