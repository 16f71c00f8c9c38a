//! Which controller a test is about, and how a test comes to its stage.

use std::panic::AssertUnwindSafe;
use std::path::Path;

use futures::FutureExt as _;

use crate::controller::Controller;
use crate::identity::{self, Access};
use crate::scene::Scene;
use crate::server::{Server, block_on, environment, skipped};

/// A controller to test.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name of the program.
    pub name: &'static str,
    /// The directory of its chart, which says what rights it has.
    pub chart: &'static str,
    /// The name of its chart's release and of its service account.
    pub(crate) release: &'static str,
    /// Names by which kube-controller-manager knows the controllers that it replaces.
    pub(crate) replaces: &'static [&'static str],
    /// Values that its chart is given, such as `args.managedBy=example.com/x`.
    pub(crate) values: &'static [&'static str],
}

impl Program {
    /// The program with the rights that its chart grants by default.
    pub const fn new(name: &'static str, chart: &'static str) -> Self {
        Self {
            name,
            chart,
            replaces: &[],
            release: name,
            values: &[],
        }
    }

    /// The same in the place of these controllers of kube-controller-manager.
    #[must_use]
    pub const fn in_place_of(self, replaces: &'static [&'static str]) -> Self {
        Self { replaces, ..self }
    }

    /// The same with the rights of a release of its own, whose chart is given these values.
    #[must_use]
    pub const fn released_as(self, release: &'static str, values: &'static [&'static str]) -> Self {
        Self {
            release,
            values,
            ..self
        }
    }

    /// Starts an instance with the rights that it ships with. Its files go into a directory of their own in `dir`.
    pub async fn start(&self, server: &Server, flags: &[&str], dir: &Path) -> Controller {
        let mut started = self.launch(server, &Access::default(), flags, dir).await;
        started.until_ready().await;
        started
    }

    /// As [`Program::start`], on another way to the server, and without waiting until it is ready.
    pub async fn launch(&self, server: &Server, access: &Access, flags: &[&str], dir: &Path) -> Controller {
        let dir = tempfile::Builder::new()
            .prefix(self.name)
            .tempdir_in(dir)
            .expect("a directory")
            .keep();
        let kubeconfig = identity::kubeconfig(server, self, access, &dir).await;
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        Controller::launch(self.name, &[&[&*kubeconfig], flags].concat(), &dir).await
    }
}

/// Who reconciles in a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The program under test.
    Ours,
    /// kube-controller-manager.
    Upstream,
    /// Nobody: the scene asks what the server itself does.
    Nobody,
}

/// Runs a test on a stage of its own, with the program under test at work there.
///
/// With `WORKLOAD_TEST_SUBJECT=upstream` kube-controller-manager takes the program's place: what a test demands of us is held
/// against the original. Without servers the test is skipped, and says so.
pub fn scenario(program: &Program, body: impl AsyncFnOnce(&mut Scene)) {
    let upstream = environment("WORKLOAD_TEST_SUBJECT").is_some_and(|subject| subject == "upstream");
    let subject = if upstream { Subject::Upstream } else { Subject::Ours };
    block_on(play(subject, Some((program, &[])), body));
}

/// As [`scenario()`], with flags for the program; upstream never takes its place.
pub fn scenario_with(program: &Program, flags: &[&str], body: impl AsyncFnOnce(&mut Scene)) {
    block_on(play(Subject::Ours, Some((program, flags)), body));
}

/// Runs a test on a stage of its own on the server where kube-controller-manager is at work; the test starts whoever else is to
/// reconcile there.
pub fn beside_upstream(body: impl AsyncFnOnce(&mut Scene)) {
    block_on(play(Subject::Upstream, None, body));
}

/// Runs a test of what the API server itself does; no controller interferes.
pub fn fact(body: impl AsyncFnOnce(&mut Scene)) {
    block_on(play(Subject::Nobody, None, body));
}

/// Runs a test on a stage of its own on `server`, whoever reconciles there.
pub async fn on(server: &'static Server, body: impl AsyncFnOnce(&mut Scene)) {
    perform(server, Subject::Nobody, None, body).await;
}

/// Runs a test on two stages at once: on the first the program under test is at work, on the second kube-controller-manager.
pub(crate) fn side_by_side(program: &Program, body: impl AsyncFnOnce(&Scene, &Scene)) {
    block_on(async {
        let (Some(ours), Some(kcm)) = (Server::ours().await, Server::kcm().await) else {
            return skipped("the servers of `cargo xtask test`");
        };
        let on_both = async |upstream: &mut Scene| {
            let on_ours = async |ours: &mut Scene| body(ours, upstream).await;
            Box::pin(perform(ours, Subject::Ours, Some((program, &[])), on_ours)).await;
        };
        perform(kcm, Subject::Upstream, None, on_both).await;
    });
}

async fn play(subject: Subject, program: Option<(&Program, &[&str])>, body: impl AsyncFnOnce(&mut Scene)) {
    let server = match subject {
        Subject::Ours | Subject::Nobody => Server::ours().await,
        Subject::Upstream => Server::kcm().await,
    };
    match server {
        Some(server) => perform(server, subject, program, body).await,
        None => skipped("the servers of `cargo xtask test`"),
    }
}

async fn perform(
    server: &'static Server,
    subject: Subject,
    program: Option<(&Program, &[&str])>,
    body: impl AsyncFnOnce(&mut Scene),
) {
    let mut scene = Scene::set(server, subject).await;
    let performance = async {
        if let (Subject::Ours, Some((program, flags))) = (subject, program) {
            let flags = [&["--leader-elect=false"], flags].concat();
            let started = scene.start(program, &flags).await;
            scene.put_controller(started);
        }
        body(&mut scene).await;
    };
    let end = AssertUnwindSafe(performance).catch_unwind().await;
    if end.is_err() {
        scene.report();
    }
    scene.strike().await;
    if let Err(panic) = end {
        std::panic::resume_unwind(panic);
    }
}
