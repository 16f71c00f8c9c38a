//! The proxy's own address, and the connections to it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::forward::Way;

/// How often a port is tried that the system has not yet let go.
const POLL: Duration = Duration::from_millis(10);
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;

/// Whether the port takes connections. Each change closes the connections that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// It does; the number tells one opening from the next.
    Open(u64),
    /// It refuses them.
    Shut,
}

/// A port of this machine that is kept, open or shut.
pub(super) struct Port {
    address: SocketAddr,
    listener: TcpListener,
}

impl Port {
    /// Any free port, open.
    pub(super) fn open() -> Self {
        let listener = reserved(SocketAddr::from(([127, 0, 0, 1], 0)))
            .and_then(|socket| socket.listen(BACKLOG))
            .expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        Self { address, listener }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves connections as the gate says, without end.
    pub(super) async fn serve(mut self, way: Way, mut gate: watch::Receiver<Gate>) -> Infallible {
        loop {
            let state = *gate.borrow_and_update();
            if state == Gate::Shut {
                self = self.stay_shut(&mut gate).await;
                continue;
            }
            let mut connections = JoinSet::new();
            while *gate.borrow() == state {
                tokio::select! {
                    _ = gate.changed() => {}
                    accepted = self.listener.accept() => if let Ok((stream, _)) = accepted {
                        connections.spawn(speak(stream, way.clone()));
                    }
                }
                while connections.try_join_next().is_some() {}
            }
        }
    }

    /// A socket that is bound but does not listen keeps the port and refuses every connection.
    async fn stay_shut(self, gate: &mut watch::Receiver<Gate>) -> Self {
        let Self { address, listener } = self;
        drop(listener);
        let socket = loop {
            match reserved(address) {
                Ok(socket) => break socket,
                Err(_) => tokio::time::sleep(POLL).await,
            }
        };
        // An error means that the proxy is gone, and this task with it.
        let _ = gate.wait_for(|gate| *gate != Gate::Shut).await;
        let listener = socket.listen(BACKLOG).expect("the port is kept");
        Self { address, listener }
    }
}

fn reserved(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

async fn speak(stream: TcpStream, way: Way) {
    let service = service_fn(move |request| way.clone().answer(request));
    // An error is what a fault wanted, or the controller's end.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
