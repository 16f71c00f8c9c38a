//! What can go wrong between this process and the API server.

use std::error::Error as StdError;
use std::time::Duration;

use tower::BoxError;

/// Why there is no usable client. Each is one line.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Neither a kubeconfig nor a service account.
    #[error("no kubeconfig and not in a cluster: {kubeconfig}; {in_cluster}")]
    NoConfig {
        /// What is wrong with the default kubeconfig.
        kubeconfig: String,
        /// Why this is not a pod with a service account.
        in_cluster: String,
    },
    /// The kubeconfig cannot be used.
    #[error("unusable kubeconfig: {0}")]
    Kubeconfig(String),
    /// Part of the configuration is not supported or malformed.
    #[error("unusable client configuration: {0}")]
    Unusable(String),
    /// The server cannot be reached.
    #[error("cannot reach the API server: {0}")]
    Unreachable(String),
    /// The server's certificate is not signed by the configured authority.
    #[error("the API server's certificate is not trusted, check the certificate authority: {0}")]
    Untrusted(String),
    /// The server answered, but not with its version.
    #[error("the API server does not tell its version: {0}")]
    Refused(String),
}

/// What a connection reports instead of an answer.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// It could not be made: the server has not seen the request.
    #[error(transparent)]
    NotMade(BoxError),
    /// It broke: the server may have carried the request out.
    #[error(transparent)]
    Broke(BoxError),
}

/// Why a call has no answer. Found in [`kube::Error::Service`].
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No connection could be made: the server has not seen the request.
    #[error("no connection to {server}")]
    NotSent {
        /// Address of the server.
        server: String,
        /// What happened.
        #[source]
        source: BoxError,
    },
    /// The connection broke: the server may have carried the request out.
    #[error("the connection to {server} broke")]
    Broken {
        /// Address of the server.
        server: String,
        /// What happened.
        #[source]
        source: BoxError,
    },
    /// No answer in time: the server may have carried the request out, or still will.
    #[error("no answer from {server} within {} s", after.as_secs())]
    TimedOut {
        /// Address of the server.
        server: String,
        /// The time limit.
        after: Duration,
    },
    /// The request was not sent: when its turn came it was no longer permitted.
    #[error("the request to {server} was no longer permitted")]
    Withdrawn {
        /// Address of the server.
        server: String,
    },
    /// The request was not sent: its credentials could not be had.
    #[error("the request to {server} could not be authenticated")]
    Unprepared {
        /// Address of the server.
        server: String,
        /// What happened.
        #[source]
        source: BoxError,
    },
}

/// An error and its causes in one line, nothing said twice.
pub(crate) fn in_one_line(error: &(dyn StdError + 'static)) -> String {
    let error = match error.downcast_ref() {
        // A mere wrapper.
        Some(kube::Error::Service(inner)) => &**inner,
        Some(_) | None => error,
    };
    let mut line = String::new();
    for part in std::iter::successors(Some(error), |error| (*error).source()) {
        let part = part.to_string().replace('\n', " ");
        if line.is_empty() {
            line = part;
        } else if !line.contains(&part) {
            line = format!("{line}: {part}");
        }
    }
    line
}
