//! The way from a proxy to the API server.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::ConfigExt as _;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};

use super::forward::Lost;

type Answer = BoxFuture<'static, Result<Response<Incoming>, Lost>>;

/// A server, reached without credentials: each request brings its own.
#[derive(Clone)]
pub(super) struct Upstream {
    base: Uri,
    send: Arc<dyn Fn(Request<Full<Bytes>>) -> Answer + Send + Sync>,
}

impl Upstream {
    /// The server of a kubeconfig.
    pub(super) async fn of(kubeconfig: &Path) -> Self {
        let file = Kubeconfig::read_from(kubeconfig).expect("a readable kubeconfig");
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        Self::reached_by(config.expect("a complete kubeconfig"))
    }

    fn reached_by(mut config: Config) -> Self {
        config.auth_info = AuthInfo::default();
        let connector = config.rustls_https_connector().expect("a connector");
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let send = move |request| {
            let sent = client.request(request);
            async move { sent.await.map_err(|_| Lost) }.boxed()
        };
        Self {
            base: config.cluster_url,
            send: Arc::new(send),
        }
    }

    /// A server without encryption, for tests of the proxy itself.
    #[cfg(test)]
    pub(super) fn plain(address: std::net::SocketAddr) -> Self {
        Self::reached_by(Config::new(format!("http://{address}").parse().expect("an address")))
    }

    /// Passes a request on. Dropping the answer gives the request up.
    pub(super) async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Lost> {
        let mut parts = self.base.clone().into_parts();
        parts.path_and_query = request.uri().path_and_query().cloned();
        *request.uri_mut() = Uri::from_parts(parts).expect("a valid address");
        request.headers_mut().remove(http::header::HOST);
        (self.send)(request).await
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upstream({})", self.base)
    }
}
