//! What must hold at every moment, whatever goes wrong, and in the end.

mod account;
mod basis;
mod ends;
mod facts;
mod pods;

use testkit::simulation::oracle::Oracle;
use testkit::simulation::schedule::Schedule;

use self::account::Account;
use self::ends::Ends;
use self::pods::Pods;

/// The laws of every story.
pub(crate) fn all(schedule: &Schedule) -> Vec<Box<dyn Oracle>> {
    vec![Box::new(Account::under(schedule)), Box::new(Pods::under(schedule))]
}

/// The laws where nobody knows the end.
pub(crate) fn of_any(schedule: &Schedule) -> Vec<Box<dyn Oracle>> {
    let mut laws = all(schedule);
    laws.push(Box::new(Ends::default()));
    laws
}
