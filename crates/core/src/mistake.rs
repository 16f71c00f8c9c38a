//! Deliberate mistakes: what simulated histories have to find.
//!
//! Each is a switch at the place where the right thing is done. The feature `mistakes` gives the switches their effect; only
//! tests enable it (`cargo xtask tidy` checks that). Without it [`made`] is `false` at compile time and nothing of this
//! is left in a controller.

/// Declares the mistakes, each where its place is: none can be missing there.
macro_rules! mistakes {
    ($($(#[$about:meta])* $place:ident { $($(#[$meaning:meta])* $mistake:ident,)* })*) => {
        /// A mistake that a history can be played with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mistake {
            $($($(#[$meaning])* $mistake,)*)*
        }

        impl Mistake {
            $($(#[$about])* pub const $place: &[Self] = &[$(Self::$mistake,)*];)*
        }
    };
}

mistakes! {
    /// Those of what all controllers share.
    CORE {
        /// Creates and deletes on their way are not awaited.
        NothingAwaited,
        /// An owner gets its turn although a cache is older than its own last write.
        StaleCachesTrusted,
        /// A delete names no uid and no version.
        DeletesUnguarded,
        /// What a new list does not contain stays in the cache.
        DeletionsMissedByLists,
        /// A create whose answer was lost is repeated under another name.
        LostCreatesRenamed,
        /// A name that an earlier attempt of our own has taken counts as somebody else's.
        OwnNamesDisowned,
        /// Writes are sent without the lease.
        FenceOpen,
        /// A lease counts as expired after a third of its time.
        LeaseTakenEarly,
        /// A new leader acts on caches that were filled under its predecessor.
        ListsNotRenewed,
        /// Orphans are adopted without a look at the owner on the server.
        OwnersNotLookedUp,
        /// Creates go on after one was refused.
        SlowStartGoesOn,
        /// Nobody looks up what became of a write whose answer was lost.
        DoubtsNotLookedUp,
        /// A write that met a conflict counts as carried out.
        ConflictsIgnored,
        /// Patches do not name the version that they were made from.
        VersionsLeftOut,
        /// A key that is added while it is worked on does not come back.
        WakesLost,
        /// A turn that failed is not repeated.
        RetriesForgotten,
    }

    /// Those of the Deployment and ReplicaSet controllers.
    DEPLOYMENT {
        /// Pods that are being deleted count as if they stayed.
        TerminatingCounted,
        /// A rollout may have one pod more than the surge allows.
        SurgeTooLarge,
        /// A rollout may lack one pod more than may be unavailable.
        TooManyUnavailable,
    }

    /// Those of the Job controller.
    JOB {
        /// The finalizer of a pod goes before its end is recorded.
        EndsUnrecorded,
        /// A pod whose end is recorded, and that is not counted yet, is taken for one that has just ended.
        UncountedOverlooked,
        /// A pod is replaced while it is about to end, although its Job's policy is to wait.
        ReplacedTooEarly,
        /// A Job ends while pods are still to be counted.
        EndedTooEarly,
        /// Pods that go because their Job is suspended count as failed.
        SuspendedCounted,
        /// The clean-up of finalizers takes those of pods whose Job is there.
        LiveJobsOrphaned,
        /// One more pod may fail than the limit says.
        LimitTooLarge,
        /// Failures that a policy ignores are counted.
        IgnoredCounted,
        /// An index that is done gets another pod.
        IndexesRedone,
        /// A surplus pod that was let go of, and not deleted, stays in place of another.
        DeparturesForgotten,
    }
}

/// Whether this mistake is to be made.
#[cfg(not(feature = "mistakes"))]
#[inline]
pub const fn made(_: Mistake) -> bool {
    false
}

#[cfg(feature = "mistakes")]
pub use switched::{Making, made, make};

#[cfg(feature = "mistakes")]
mod switched {
    use std::cell::Cell;

    use super::Mistake;

    thread_local! {
        static MADE: Cell<Option<Mistake>> = const { Cell::new(None) };
    }

    /// Whether this mistake is to be made.
    #[inline]
    pub fn made(mistake: Mistake) -> bool {
        MADE.get() == Some(mistake)
    }

    /// Has everything on this thread make a mistake until the answer is dropped: a simulated history runs on one thread.
    #[must_use = "the mistake ends with it"]
    pub fn make(mistake: Mistake) -> Making {
        MADE.set(Some(mistake));
        Making(())
    }

    /// A mistake is being made.
    #[derive(Debug)]
    pub struct Making(());

    impl Drop for Making {
        fn drop(&mut self) {
            MADE.set(None);
        }
    }
}

#[cfg(all(test, feature = "mistakes"))]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_made_only_while_it_is_asked_for_and_only_on_its_thread() {
        let all_made = || {
            let all = [Mistake::CORE, Mistake::DEPLOYMENT, Mistake::JOB].concat();
            all.into_iter().filter(|mistake| made(*mistake)).collect::<Vec<_>>()
        };
        assert_eq!(all_made(), []);
        let making = make(Mistake::FenceOpen);
        assert_eq!(all_made(), [Mistake::FenceOpen]);
        assert_eq!(std::thread::spawn(all_made).join().unwrap(), []);
        drop(making);
        assert_eq!(all_made(), []);
    }
}
