//! A gate around the tasks of one process, for simulations that run several processes on one thread: it can stop polling
//! them (as SIGSTOP does), go on, and end them all at once (as SIGKILL does). Tasks inherit the gate of the task that
//! started them. Outside of simulations there is none.

use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::task::AbortHandle;

use super::Task;

thread_local! {
    /// The gate of the task that is being polled.
    static CURRENT: RefCell<Option<Gate>> = const { RefCell::new(None) };
}

/// The gate of a process. Clones are the same gate.
#[derive(Clone, Default)]
pub struct Gate(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    door: Door,
    waiting: Vec<Waker>,
    tasks: Vec<AbortHandle>,
    panic: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Door {
    #[default]
    Open,
    Shut,
    /// Shut for tasks of this name.
    Ajar(&'static str),
    /// The process is no more.
    Gone,
}

impl Gate {
    /// Starts the first task of a process, behind this gate.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> Task<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let _inside = self.enter();
        super::spawn(name, future)
    }

    /// From now on no task is polled. What was sent before goes its way, and time passes.
    pub fn freeze(&self) {
        self.swing(Door::Shut);
    }

    /// Tasks go on where they were.
    pub fn thaw(&self) {
        self.swing(Door::Open);
    }

    /// Tasks go on, but those of this name: a computer gives each its turn when it likes.
    pub fn thaw_but(&self, name: &'static str) {
        self.swing(Door::Ajar(name));
    }

    /// Ends all tasks: none is polled any more, and what they hold is dropped.
    pub fn kill(&self) {
        let tasks = {
            let mut state = self.0.lock();
            state.door = Door::Gone;
            mem::take(&mut state.tasks)
        };
        tasks.iter().for_each(AbortHandle::abort);
    }

    /// What the first panic in one of the tasks said. Such a process has ended.
    pub fn panicked(&self) -> Option<String> {
        self.0.lock().panic.clone()
    }

    /// The gate of the task that is being polled on this thread.
    pub(super) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Takes a new task in.
    pub(super) fn admit(&self, task: AbortHandle) {
        let mut state = self.0.lock();
        if state.door == Door::Gone {
            task.abort();
        } else {
            state.tasks.push(task);
        }
    }

    /// Ends the process because of a panic.
    pub(super) fn end_by_panic(&self, message: String) {
        self.0.lock().panic.get_or_insert(message);
        self.kill();
    }

    fn swing(&self, to: Door) {
        let waiting = {
            let mut state = self.0.lock();
            if state.door != Door::Gone {
                state.door = to;
            }
            mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn lets_pass(&self, name: &'static str, waker: &Waker) -> bool {
        let mut state = self.0.lock();
        let passes = match state.door {
            Door::Open => true,
            Door::Ajar(shut_for) => shut_for != name,
            Door::Shut | Door::Gone => false,
        };
        if !passes && !state.waiting.iter().any(|known| known.will_wake(waker)) {
            state.waiting.push(waker.clone());
        }
        passes
    }

    fn enter(&self) -> Inside {
        Inside(CURRENT.replace(Some(self.clone())))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gate({:?})", self.0.lock().door)
    }
}

/// While it lives, its gate is the current one.
struct Inside(Option<Gate>);

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// A task's future behind a gate.
pub(super) struct Gated<F> {
    gate: Gate,
    name: &'static str,
    future: Pin<Box<F>>,
}

impl<F: Future> Gated<F> {
    pub(super) fn new(gate: Gate, name: &'static str, future: F) -> Self {
        let future = Box::pin(future);
        Self { gate, name, future }
    }
}

impl<F: Future> Future for Gated<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if !self.gate.lets_pass(self.name, cx.waker()) {
            return Poll::Pending;
        }
        let _inside = self.gate.enter();
        self.future.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    /// A process of two tasks, one started by the other, that counts a second each.
    fn counting(gate: &Gate) -> Arc<AtomicU32> {
        let count = Arc::new(AtomicU32::new(0));
        let (outer, inner) = (Arc::clone(&count), Arc::clone(&count));
        let task = gate.spawn("outer", async move {
            let _inner = crate::run::spawn("inner", tick(inner));
            tick(outer).await;
        });
        task.detach();
        count
    }

    async fn tick(count: Arc<AtomicU32>) {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            count.fetch_add(1, Ordering::SeqCst);
        }
    }

    async fn after(seconds: u64, count: &AtomicU32) -> u32 {
        tokio::time::sleep(Duration::from_millis(seconds * 1000 + 500)).await;
        count.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn a_frozen_process_stands_still_and_goes_on() {
        let gate = Gate::default();
        let count = counting(&gate);
        assert_eq!(after(2, &count).await, 4);
        gate.freeze();
        assert_eq!(after(60, &count).await, 4);
        gate.thaw_but("inner");
        assert_eq!(after(2, &count).await, 7, "the outer one alone");
        gate.thaw();
        assert!(after(2, &count).await >= 11);
    }

    #[tokio::test(start_paused = true)]
    async fn a_killed_process_drops_all_it_holds() {
        let gate = Gate::default();
        let count = counting(&gate);
        assert_eq!(after(1, &count).await, 2);
        gate.kill();
        assert_eq!(after(60, &count).await, 2);
        assert_eq!(Arc::strong_count(&count), 1);
        let late = counting(&gate);
        assert_eq!(after(5, &late).await, 0, "nothing starts any more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_ends_the_process_behind_the_gate_alone() {
        let (gate, other) = (Gate::default(), Gate::default());
        let (count, others) = (counting(&gate), counting(&other));
        let panicking = gate.spawn("bad", async { panic!("bad luck") });
        panicking.detach();
        assert_eq!(after(2, &count).await, 0);
        assert_eq!(gate.panicked().as_deref(), Some("bad luck"));
        assert_eq!((after(2, &others).await, other.panicked()), (8, None));
    }
}
