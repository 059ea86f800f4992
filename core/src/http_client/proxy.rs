//! Owns dialling a proxy, and telling failures of a proxy from those of a server.
//! Invariant: a proxy is verified with the system's certificates, and gets no certificate: the TLS settings of a server are
//! for that server only.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::connector::{BoxError, ConnectorFuture, Resolver};
use super::tls::proxy_tls;

/// Dials one proxy.
#[derive(Clone)]
pub(super) enum ProxyConnector {
    Plain(HttpConnector<Resolver>),
    Tls(HttpsConnector<HttpConnector<Resolver>>),
}

impl ProxyConnector {
    pub(super) fn new(http: HttpConnector<Resolver>, proxy: &Uri) -> Result<Self, BoxError> {
        match proxy.scheme_str().unwrap_or_default() {
            "http" => Ok(ProxyConnector::Plain(http)),
            "https" => {
                let tls = Arc::new(proxy_tls()?);
                Ok(ProxyConnector::Tls(HttpsConnector::from((http, tls))))
            }
            other => Err(format!("proxies by {other} are not supported").into()),
        }
    }
}

impl Service<Uri> for ProxyConnector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = ConnectorFuture<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, proxy: Uri) -> Self::Future {
        let mut connector = self.clone();
        Box::pin(async move {
            let dialled = match &mut connector {
                ProxyConnector::Plain(http) => {
                    http.call(proxy).await.map(MaybeHttpsStream::Http).map_err(BoxError::from)
                }
                ProxyConnector::Tls(https) => https.call(proxy).await,
            };
            dialled.map_err(|cause| UnreachableProxy(cause).into())
        })
    }
}

/// The error of a tunnel. It has no public name.
type TunnelError = <Tunnel<ProxyConnector> as Service<Uri>>::Error;

/// A proxy was reached and opened no tunnel to the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoTunnel {
    LoginRequired,
    Refused,
}

impl NoTunnel {
    /// Whether this caused a request's failure.
    pub(crate) fn cause_of(error: &(dyn StdError + 'static)) -> Option<Self> {
        match find_cause::<TunnelError>(error)? {
            TunnelError::ProxyAuthRequired => Some(NoTunnel::LoginRequired),
            TunnelError::ConnectFailed(_) | TunnelError::MissingHost => None,
            _ => Some(NoTunnel::Refused),
        }
    }

    pub(crate) fn hint(&self) -> &'static str {
        match self {
            NoTunnel::LoginRequired => {
                "put the proxy's login into its variable, such as HTTPS_PROXY=http://name:password@host"
            }
            NoTunnel::Refused => {
                "may the proxy reach this server? NO_PROXY names servers that need no proxy"
            }
        }
    }
}

/// A proxy was not reached, so that nothing is known of the server.
#[derive(Debug)]
pub(crate) struct UnreachableProxy(BoxError);

impl UnreachableProxy {
    /// Whether it caused a request's failure.
    pub(crate) fn is_cause_of(error: &(dyn StdError + 'static)) -> bool {
        find_cause::<UnreachableProxy>(error).is_some()
    }
}

fn find_cause<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    std::iter::successors(Some(error), |&error| error.source()).find_map(|it| it.downcast_ref())
}

impl fmt::Display for UnreachableProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the proxy cannot be reached")
    }
}

impl StdError for UnreachableProxy {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}
