//! A way to a server that can be cut.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

/// Passes everything on to a port of this machine, until it is cut.
pub(super) struct Proxy {
    address: SocketAddr,
    /// Cancelled to cut the connections that are there; those to come have another one.
    cut: Arc<Mutex<CancellationToken>>,
}

impl Proxy {
    pub(super) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(Mutex::new(CancellationToken::new()));
        let current = cut.clone();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let cut = current.lock().clone();
                tokio::spawn(cut.run_until_cancelled_owned(async move {
                    // One that is not there closes the connection.
                    if let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await {
                        let _ = copy_bidirectional(&mut near, &mut far).await;
                    }
                }));
            }
        });
        Self { address, cut }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Cuts all connections.
    pub(super) fn cut(&self) {
        std::mem::take(&mut *self.cut.lock()).cancel();
    }
}
