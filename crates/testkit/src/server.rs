//! The API servers that all tests share. `cargo xtask test` starts them and says in the environment where they are.

use std::collections::BTreeSet;
use std::future::Future;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, OnceCell};

use crate::api::Api;
use crate::record::Outages;

/// Kubeconfig of the server whose kube-controller-manager does not run the controllers under test.
const OURS: &str = "WORKLOAD_TEST_OURS";
/// Kubeconfig of the server whose kube-controller-manager runs every controller.
const KCM: &str = "WORKLOAD_TEST_KCM";
/// Kubeconfig of the server that tests stop and start.
const TAKEOVER: &str = "WORKLOAD_TEST_TAKEOVER";

/// The value of an environment variable; tests have no flags to say such things by.
#[allow(
    clippy::disallowed_methods,
    reason = "the one place where tests read their environment"
)]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// One API server, with full rights.
pub struct Server {
    kubeconfig: PathBuf,
    client: kube::Client,
    pub(crate) outages: Outages,
    /// The releases whose accounts have their rights.
    pub(crate) rights: Mutex<BTreeSet<&'static str>>,
}

impl Server {
    /// The server for our controllers; `None` where there is none.
    pub async fn ours() -> Option<&'static Self> {
        static SERVER: OnceCell<Server> = OnceCell::const_new();
        Self::named(OURS, Outages::Unexpected, &SERVER).await
    }

    /// The server on which upstream's own controllers run; `None` where there is none.
    pub async fn kcm() -> Option<&'static Self> {
        static SERVER: OnceCell<Server> = OnceCell::const_new();
        Self::named(KCM, Outages::Unexpected, &SERVER).await
    }

    /// The server that tests stop and start; `None` where there is none.
    pub(crate) async fn takeover() -> Option<&'static Self> {
        static SERVER: OnceCell<Server> = OnceCell::const_new();
        Self::named(TAKEOVER, Outages::Expected, &SERVER).await
    }

    /// The server of a kubeconfig.
    pub async fn of(kubeconfig: &Path) -> Self {
        Self::with(kubeconfig, Outages::Unexpected).await
    }

    async fn with(kubeconfig: &Path, outages: Outages) -> Self {
        let options = KubeConfigOptions::default();
        let parsed = Kubeconfig::read_from(kubeconfig).expect("a readable kubeconfig");
        let mut config = kube::Config::from_custom_kubeconfig(parsed, &options)
            .await
            .expect("a complete kubeconfig");
        // A test wants to see each refusal.
        config.default_retry = false;
        let client = kube::Client::try_from(config).expect("a client");
        Self {
            kubeconfig: kubeconfig.to_owned(),
            client,
            outages,
            rights: Mutex::default(),
        }
    }

    async fn named(variable: &str, outages: Outages, server: &'static OnceCell<Self>) -> Option<&'static Self> {
        let kubeconfig = environment(variable)?;
        Some(server.get_or_init(|| Self::with(Path::new(&kubeconfig), outages)).await)
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Requests with full rights.
    pub fn api(&self) -> Api {
        Api::cluster(self.client.clone())
    }
}

/// Runs a test's future. All tests of a binary share one runtime, so that they can share connections.
pub fn block_on<F: Future>(future: F) -> F::Output {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));
    RUNTIME.block_on(future)
}

/// Says that the running test has not tested anything. libtest shows what passing tests print only on demand, but not what
/// they write to the process's standard error itself.
pub fn skipped(needs: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let notice = format!("skipped ({count}): {test} needs {needs}\n");
    // In one piece, since tests run in parallel. A notice that cannot be written is no reason to fail.
    let _ = std::io::stderr().write_all(notice.as_bytes());
}
