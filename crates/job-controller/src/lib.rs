//! Kubernetes' Job and TTL-after-finished controllers.
//!
//! Three loops over two caches: [`job`] runs pods and counts them, [`orphans`] takes the finalizer from pods that nobody counts
//! any more, [`ttl`] deletes Jobs some time after their end. [`install`] says which event wakes whom.

pub mod args;
pub mod job;
pub mod metrics;
pub mod orphans;
pub mod ttl;

use std::sync::Arc;

use workload_core::cache::{Cache, Progress};
use workload_core::id::Kind;
use workload_core::run::{Program, Site};

use self::args::Loops;
use self::job::decide::Bounds;
use self::job::memory::Memory;
use self::job::pod::Pod;
use self::job::spec::Job;
use self::job::{Jobs, Serves};
use self::metrics::JobMetrics;
use self::orphans::Orphans;
use self::ttl::Ttl;
use self::ttl::metrics::Lateness;

/// What this program is called.
pub const PROGRAM: Program = Program {
    name: "job-controller",
    version: env!("CARGO_PKG_VERSION"),
};

/// Sets up the caches and these loops.
pub fn install(site: &mut Site, loops: &Loops) {
    let mut jobs: Cache<Job> = site.cache();
    if let Some(serves) = &loops.jobs {
        let mut pods: Cache<Pod> = site.cache();
        install_jobs(site, &mut jobs, &mut pods, serves);
        install_orphans(site, &mut jobs, &mut pods, serves);
        site.keep(pods);
    }
    if loops.ttl {
        install_ttl(site, &mut jobs);
    }
    site.keep(jobs);
}

fn install_jobs(site: &mut Site, jobs: &mut Cache<Job>, pods: &mut Cache<Pod>, serves: &Serves) {
    let metrics = site.metrics().register(JobMetrics::register);
    let memory = Arc::new(Memory::default());
    let counter = metrics.clone();
    let workload = Jobs {
        jobs: jobs.store(),
        pods: pods.store(),
        serves: serves.clone(),
        memory: Arc::clone(&memory),
        bounds: Bounds::default(),
        counter: Box::new(move |tally| counter.count(tally)),
    };
    let children: (Kind, Arc<dyn Progress>) = (Kind::POD, pods.store());
    let wakes = site.reconcile(workload, jobs, [children]);
    let (of_jobs, of_pods, own) = (metrics.clone(), metrics, serves.clone());
    jobs.subscribe(Box::new(move |delta| {
        memory.observe(delta);
        of_jobs.observe_job(delta, &own);
    }));
    pods.subscribe(Box::new(move |delta| of_pods.observe_pod(delta)));
    let (owners, others) = (jobs.store(), pods.store());
    jobs.subscribe(wakes.on(job::watches::of_job));
    pods.subscribe(wakes.on(move |delta| job::watches::of_pod(delta, &owners, &others)));
}

fn install_orphans(site: &mut Site, jobs: &mut Cache<Job>, pods: &mut Cache<Pod>, serves: &Serves) {
    let workload = Orphans {
        jobs: jobs.store(),
        pods: pods.store(),
        serves: serves.clone(),
    };
    let owners: (Kind, Arc<dyn Progress>) = (Kind::JOB, jobs.store());
    let wakes = site.reconcile(workload, pods, [owners]);
    let (left, by) = (pods.store(), serves.clone());
    jobs.subscribe(wakes.on(move |delta| job::watches::orphans_of_job(delta, &left, &by)));
    let (owners, by) = (jobs.store(), serves.clone());
    pods.subscribe(wakes.on(move |delta| job::watches::orphans_of_pod(delta, &owners, &by)));
}

fn install_ttl(site: &mut Site, jobs: &mut Cache<Job>) {
    let workload = Ttl {
        jobs: jobs.store(),
        lateness: site.metrics().register(Lateness::register),
    };
    let wakes = site.reconcile(workload, jobs, []);
    jobs.subscribe(wakes.on(ttl::of_job));
}
