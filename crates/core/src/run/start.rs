//! From the command line to a running process.

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;

use crate::chance::Chance;
use crate::client::{self, CallOptions, Client, ClientMetrics, ClientOptions, Rate};
use crate::metrics::{Metrics, ProcessMetrics};
use crate::run::admin::Admin;
use crate::run::args::RunArgs;
use crate::run::process::{Parts, Process, Program};
use crate::run::signals::Signals;
use crate::run::site::Site;
use crate::run::spawn;
use crate::run::telemetry;
use crate::time::{SharedClock, SystemClock};

/// Time limit of one attempt of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs a controller until it is told to stop (exit code 0) or may no longer lead (1). `install` sets up its caches and
/// loops.
pub fn main(program: Program, args: &RunArgs, install: impl FnOnce(&mut Site)) -> ExitCode {
    match try_main(program, args, install) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "the process ends");
            ExitCode::FAILURE
        }
    }
}

fn try_main(program: Program, args: &RunArgs, install: impl FnOnce(&mut Site)) -> anyhow::Result<()> {
    telemetry::start(&args.log_level, args.log_format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let ended = runtime.block_on(serve(program, args, install));
    // Not waiting for a name lookup that may still hang: a process that lost its lease is gone at once.
    runtime.shutdown_background();
    ended
}

async fn serve(program: Program, args: &RunArgs, install: impl FnOnce(&mut Site)) -> anyhow::Result<()> {
    let mut signals = Signals::listen().context("failed to listen for signals")?;
    let clock: SharedClock = Arc::new(SystemClock);
    let metrics = Metrics::default();
    metrics.register(ProcessMetrics::register);
    let clients = Clients::build(program, args, &metrics, &clock).await?;
    let parts = Parts {
        program,
        args: args.clone(),
        work: clients.work,
        election: clients.election,
        clock,
        chance: Chance::system(),
        host: host(),
        metrics: metrics.clone(),
    };
    let process = Process::assemble(parts, install);
    let admin = Admin::bind(args.admin_addr, metrics, process.health())?;
    tracing::info!(program = program.name, version = program.version, admin = %admin.address(), "started");
    let ended = CancellationToken::new();
    let _end = ended.clone().drop_guard();
    let _serving = spawn::spawn("admin", admin.serve(ended));
    Ok(process.run(&mut signals).await?)
}

/// The two connections of a process: load on one cannot delay a renewal on the other.
struct Clients {
    work: Client,
    election: Client,
}

impl Clients {
    async fn build(program: Program, args: &RunArgs, metrics: &Metrics, clock: &SharedClock) -> anyhow::Result<Self> {
        let counters = metrics.register(ClientMetrics::register);
        let server = &args.server;
        let options = |calls| ClientOptions {
            kubeconfig: server.kubeconfig.clone(),
            context: server.context.clone(),
            calls,
        };
        let Calls { work, election } = Calls::of(program, args);
        Ok(Self {
            work: client::build(&options(work), &counters, Arc::clone(clock)).await?,
            election: client::build(&options(election), &counters, Arc::clone(clock)).await?,
        })
    }
}

/// How the calls of a process behave.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Those for its work.
    pub work: CallOptions,
    /// Those for its election.
    pub election: CallOptions,
}

impl Calls {
    /// Those of this program with these flags.
    pub fn of(program: Program, args: &RunArgs) -> Self {
        let rate = args.load.qps.map(|per_second| Rate {
            per_second,
            burst: args.load.burst.map_or_else(|| twice(per_second), NonZeroU32::get),
        });
        let election = CallOptions {
            user_agent: format!("{}/{}", program.name, program.version),
            rate: None,
            timeout: CALL_TIMEOUT,
        };
        let work = CallOptions {
            rate,
            ..election.clone()
        };
        Self { work, election }
    }
}

/// The name of this machine or pod; empty where the kernel does not tell.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

fn twice(per_second: f64) -> u32 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float becomes the nearest integer that fits, which is what is wanted"
    )]
    let burst = (per_second * 2.0).ceil() as u32;
    burst.max(1)
}
