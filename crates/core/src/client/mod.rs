//! The HTTP stack under every request.
//!
//! Compared with kube's default stack: every call but a watch has a time limit, a call is repeated only where nothing can
//! happen twice, failures say whether the server can have seen the request, and client-go's metrics are kept.

mod error;
mod metrics;
mod retry;
mod stack;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use parking_lot::Mutex;
use tower::{BoxError, Service, ServiceBuilder};

use self::stack::{Shared, Stack};
use crate::queue::bucket::TokenBucket;
use crate::time::SharedClock;

pub(crate) use error::in_one_line;
pub use error::{CallError, ClientError, ConnectionError};
/// The client that everything below is built on; named here so that only this module and the senders import kube.
pub use kube::Client;
pub use metrics::ClientMetrics;
pub(crate) use retry::{asked_for, retry_after};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A silent connection is probed after this long, so that a dead one is noticed within a minute (also under a watch).
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;

/// How to reach the API server, and how to call it.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// A kubeconfig file. Without it: the pod's service account, else the default kubeconfig.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig other than its current one.
    pub context: Option<String>,
    /// How calls behave.
    pub calls: CallOptions,
}

/// How the calls of a client behave.
#[derive(Clone, Debug)]
pub struct CallOptions {
    /// `User-Agent` of every request: component and version.
    pub user_agent: String,
    /// Client-side rate limit; watches are exempt. `None` leaves pacing to the server's own flow control.
    pub rate: Option<Rate>,
    /// Time limit of each attempt of a call; watches are exempt.
    pub timeout: Duration,
}

/// A rate limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Calls per second in the long run; positive.
    pub per_second: f64,
    /// Calls at once after a pause.
    pub burst: u32,
}

/// Put into the extensions of a request, it is asked immediately before each attempt, after any wait for its turn: how long
/// may the attempt take? `None`: it is not to be made any more.
#[derive(Clone)]
pub struct Permit(Arc<dyn Fn() -> Option<Duration> + Send + Sync>);

impl Permit {
    /// A permit that `allowed` gives.
    pub fn new(allowed: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self(Arc::new(allowed))
    }

    /// How long an attempt made now may take.
    pub(crate) fn ask(&self) -> Option<Duration> {
        (self.0)()
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permit({:?})", self.ask())
    }
}

/// Builds a client. It connects with its first call. Leader election gets one of its own, so that load cannot delay it.
pub async fn build(
    options: &ClientOptions,
    metrics: &ClientMetrics,
    clock: SharedClock,
) -> Result<kube::Client, ClientError> {
    let config = configuration(options).await?;
    if let Some(proxy) = &config.proxy_url {
        return Err(ClientError::Unusable(format!("proxies ({proxy}) are not supported")));
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    let connector = config
        .rustls_https_connector_with_connector(tcp)
        .map_err(|error| unusable(&error))?;
    let pool = legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let connection = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(|error| unusable(&error))?)
        .layer(config.extra_headers_layer().map_err(|error| unusable(&error))?)
        .map_err(connection_error)
        .service(pool);
    let stack = stack(connection, &config.cluster_url, &options.calls, metrics, clock)?;
    Ok(kube::Client::new(stack, config.default_namespace))
}

/// A client over any connection to the server at `server`, such as a simulated one, with the layers that [`build`] puts
/// around a real one. The connection reports a [`ConnectionError`] where it has no answer.
pub fn over<S, B>(
    connection: S,
    server: &Uri,
    options: &CallOptions,
    metrics: &ClientMetrics,
    clock: SharedClock,
) -> Result<kube::Client, ClientError>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let stack = stack(connection, server, options, metrics, clock)?;
    Ok(kube::Client::new(stack, "default"))
}

fn stack<S>(
    connection: S,
    server: &Uri,
    options: &CallOptions,
    metrics: &ClientMetrics,
    clock: SharedClock,
) -> Result<Stack<S>, ClientError> {
    let shared = Shared {
        server: server.to_string().trim_end_matches('/').to_owned(),
        host: server.authority().map(ToString::to_string).unwrap_or_default(),
        user_agent: HeaderValue::from_str(&options.user_agent).map_err(|error| unusable(&error))?,
        timeout: options.timeout,
        bucket: options.rate.map(bucket).transpose()?,
        metrics: metrics.clone(),
        clock,
    };
    let shared = Arc::new(shared);
    Ok(Stack { connection, shared })
}

fn connection_error(error: legacy::Error) -> BoxError {
    let error = if error.is_connect() {
        ConnectionError::NotMade(error.into())
    } else {
        ConnectionError::Broke(error.into())
    };
    error.into()
}

/// Asks the server for its version, such as `v1.37.2`: shows whether address, certificate authority and credentials work.
pub async fn probe(client: &kube::Client) -> Result<String, ClientError> {
    match client.apiserver_version().await {
        Ok(info) => Ok(info.git_version),
        Err(kube::Error::Service(error)) => Err(unreachable(&*error)),
        Err(kube::Error::Api(status)) => Err(ClientError::Refused(format!("{} {}", status.code, status.message))),
        Err(error) => Err(ClientError::Refused(in_one_line(&error))),
    }
}

fn unreachable(error: &(dyn std::error::Error + 'static)) -> ClientError {
    let text = in_one_line(error);
    // Which certificate error it is differs by TLS library; all of them say so.
    if text.contains("certificate") {
        ClientError::Untrusted(text)
    } else {
        ClientError::Unreachable(text)
    }
}

async fn configuration(options: &ClientOptions) -> Result<Config, ClientError> {
    let choice = KubeConfigOptions {
        context: options.context.clone(),
        ..KubeConfigOptions::default()
    };
    if let Some(path) = &options.kubeconfig {
        let named = |error| ClientError::Kubeconfig(format!("{}: {}", path.display(), in_one_line(&error)));
        let file = Kubeconfig::read_from(path).map_err(named)?;
        return Config::from_custom_kubeconfig(file, &choice).await.map_err(named);
    }
    if options.context.is_some() {
        let config = Config::from_kubeconfig(&choice).await;
        return config.map_err(|error| ClientError::Kubeconfig(in_one_line(&error)));
    }
    let in_cluster = match Config::incluster() {
        Ok(config) => return Ok(config),
        Err(error) => in_one_line(&error),
    };
    Config::from_kubeconfig(&choice)
        .await
        .map_err(|error| ClientError::NoConfig {
            kubeconfig: in_one_line(&error),
            in_cluster,
        })
}

fn bucket(rate: Rate) -> Result<Mutex<TokenBucket>, ClientError> {
    let interval = Duration::try_from_secs_f64(1.0 / rate.per_second).map_err(|error| unusable(&error))?;
    Ok(Mutex::new(TokenBucket::new(rate.burst.max(1), interval)))
}

fn unusable(error: &(dyn std::error::Error + 'static)) -> ClientError {
    ClientError::Unusable(in_one_line(error))
}

#[cfg(test)]
mod tests;
