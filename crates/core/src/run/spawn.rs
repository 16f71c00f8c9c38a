//! The one place that starts tasks: they have names, they do not outlive their owner, and a panic ends the process.

mod gate;

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio_util::task::AbortOnDropHandle;

pub use self::gate::Gate;
use self::gate::Gated;

/// Exit code of a process whose task panicked, the same as that of a panic in `main`.
pub const PANICKED: i32 = 101;

/// A running task. Dropping it aborts the task, so nothing goes on behind the back of its owner.
pub type Task<T> = AbortOnDropHandle<T>;

/// Starts `future` as a task.
///
/// A panic in it ends the process with [`PANICKED`]: a controller that has lost a watch or its lease renewal without
/// noticing is worse than one that restarts. Turns of a queue are the exception; [`crate::queue::workers`] catches those.
/// Behind a [`Gate`] only the simulated process ends.
#[allow(clippy::disallowed_methods, reason = "the one place that calls tokio::spawn")]
pub fn spawn<F>(name: &'static str, future: F) -> Task<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let gate = Gate::current();
    let simulated = gate.clone();
    let watched = async move {
        let panic = match caught(future).await {
            Ok(output) => return output,
            Err(panic) => panic,
        };
        tracing::error!(task = name, panic, "a task panicked, the process ends");
        let Some(gate) = simulated else {
            std::process::exit(PANICKED)
        };
        gate.end_by_panic(panic);
        std::future::pending().await
    };
    let Some(gate) = gate else {
        return AbortOnDropHandle::new(tokio::spawn(watched));
    };
    let task = tokio::spawn(Gated::new(gate.clone(), name, watched));
    gate.admit(task.abort_handle());
    AbortOnDropHandle::new(task)
}

/// Runs `future`; a panic in it becomes an error that carries the panic's message.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    AssertUnwindSafe(future)
        .catch_unwind()
        .await
        .map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_caught_with_its_message() {
        assert_eq!(caught(async { 1 }).await, Ok(1));
        let number = 7;
        assert_eq!(
            caught(async { panic!("plain") }).await,
            Err::<(), _>("plain".to_owned())
        );
        assert_eq!(
            caught(async { panic!("number {number}") }).await,
            Err::<(), _>("number 7".to_owned())
        );
    }

    #[tokio::test]
    async fn a_task_ends_with_its_handle() {
        let (alive, watched) = tokio::sync::oneshot::channel::<()>();
        let task = spawn("test", async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        drop(task);
        assert!(watched.await.is_err(), "the sender was dropped with the task");
    }
}
