//! The admin server: /livez, /readyz and /metrics. It answers whether or not the API server does.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// What readiness depends on.
pub trait Health: Send + Sync {
    /// What is missing, one line each; nothing if ready.
    fn missing(&self) -> Vec<String>;
}

/// A bound admin server.
pub struct Admin {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
}

#[derive(Clone)]
struct Shown {
    metrics: Metrics,
    health: Arc<dyn Health>,
}

impl Admin {
    /// Takes the address; port 0 takes any free one.
    pub fn bind(address: SocketAddr, metrics: Metrics, health: Arc<dyn Health>) -> anyhow::Result<Self> {
        let listener =
            TcpListener::bind(address).with_context(|| format!("failed to bind the admin address {address}"))?;
        listener.set_nonblocking(true)?;
        let router = Router::new()
            .route("/livez", get(livez))
            .route("/healthz", get(livez))
            .route("/readyz", get(readyz))
            .route("/metrics", get(metrics_text))
            .with_state(Shown { metrics, health });
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            router,
        })
    }

    /// The address that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop`.
    pub async fn serve(self, stop: CancellationToken) {
        let served = async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            axum::serve(listener, self.router)
                .with_graceful_shutdown(stop.cancelled_owned())
                .await
        };
        if let Err(error) = served.await {
            tracing::error!(%error, "the admin server ended");
        }
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Admin({})", self.address)
    }
}

/// The process serves, hence it lives: a task that panics ends it.
async fn livez() -> &'static str {
    "ok\n"
}

async fn readyz(State(shown): State<Shown>) -> Response {
    let missing = shown.health.missing();
    if missing.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, missing.join("\n") + "\n").into_response()
}

async fn metrics_text(State(shown): State<Shown>) -> Response {
    match shown.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, Metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    struct Lacking(&'static [&'static str]);

    impl Health for Lacking {
        fn missing(&self) -> Vec<String> {
            self.0.iter().map(|text| (*text).to_owned()).collect()
        }
    }

    async fn get(lacking: &'static [&'static str], path: &str) -> (u16, String, String) {
        let address = "127.0.0.1:0".parse().unwrap();
        let admin = Admin::bind(address, Metrics::default(), Arc::new(Lacking(lacking))).unwrap();
        assert_ne!(admin.address().port(), 0);
        let request = http::Request::get(path).body(Body::empty()).unwrap();
        let response = admin.router.oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let content_type = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, content_type, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_process_that_is_not_ready_says_what_is_missing_and_lives() {
        let missing = &["cache of Pod is not synced", "cache of ReplicaSet is not synced"];
        let (code, _, body) = get(missing, "/readyz").await;
        assert_eq!(
            (code, &*body),
            (503, "cache of Pod is not synced\ncache of ReplicaSet is not synced\n")
        );
        for path in ["/livez", "/healthz"] {
            assert_eq!(get(missing, path).await.0, 200, "{path}");
        }
        assert_eq!(get(&[], "/readyz").await.0, 200);
    }

    #[tokio::test]
    async fn metrics_come_in_the_format_of_upstreams() {
        let (code, content_type, _) = get(&[], "/metrics").await;
        assert_eq!(
            (code, &*content_type),
            (200, "text/plain; version=0.0.4; charset=utf-8")
        );
    }
}
