//! Owns connecting to a server: the DNS lookup, a proxy if the environment names one, and TLS if the URL requires it.
//! Invariant: only addresses that the link allows are dialled, and a server that never stops sending yields to all
//! others.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec::IntoIter;

use http::Uri;
use http::uri::{Authority, Scheme};
use hyper::rt::{Read, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop;
use tower_service::Service;

use super::Endpoints;
use super::proxy::ProxyConnector;
use super::tls::{NoCertificate, link_tls};
use crate::resolve::{AllowedAddresses, Target};

/// The bytes that cost one unit of a task's coop budget: after 1 MiB other tasks run.
pub(super) const READ_UNIT: usize = 8 << 10;

pub(super) type BoxError = Box<dyn StdError + Send + Sync>;
pub(super) type ConnectorFuture<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// The versions of HTTP that a link offers to its server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpVersions {
    All,
    /// For a connection that becomes a WebSocket. Proxies get a tunnel, because they do not forward the upgrade.
    OnlyHttp1,
}

impl HttpVersions {
    /// Their names in TLS.
    fn protocols(self) -> Vec<Vec<u8>> {
        match self {
            HttpVersions::All => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            HttpVersions::OnlyHttp1 => vec![b"http/1.1".to_vec()],
        }
    }
}

/// Dials for one link.
#[derive(Clone)]
pub(crate) struct Connector {
    http: HttpConnector<Resolver>,
    /// Dials proxies, whose addresses are the user's choice.
    to_proxies: HttpConnector<Resolver>,
    tls: Arc<ClientConfig>,
    /// `None` if a proxy would dial addresses that we cannot check.
    proxies: Option<Arc<Matcher>>,
    versions: HttpVersions,
    /// Unless the link has a certificate to present.
    no_certificate: Option<Arc<NoCertificate>>,
}

impl Connector {
    /// Fails if the server may not be dialled at its URL, or with its TLS files.
    pub(super) fn for_target(
        target: &Target,
        versions: HttpVersions,
    ) -> crate::error::Result<Self> {
        let Target { server, url, addresses, tls, .. } = target;
        addresses.check(url).map_err(|refused| refused.to_error(server))?;
        let tls = link_tls(tls.as_ref()).map_err(|problem| problem.into_error(server))?;
        let proxies = match addresses {
            AllowedAddresses::Any => Some(Matcher::from_system()),
            AllowedAddresses::PublicOnly => None,
        };
        let resolver = Resolver { addresses: *addresses, names: NameSource::System };
        Ok(Connector::new(tls, versions, resolver, proxies))
    }

    /// For the endpoints of a sign-in. A proxy is used although it dials addresses that we cannot check: it is the
    /// user's.
    pub(super) fn for_endpoints(endpoints: &Endpoints) -> crate::error::Result<Self> {
        let Endpoints { server, tls, addresses, .. } = endpoints;
        let tls = link_tls(tls.as_ref()).map_err(|problem| problem.into_error(server))?;
        let resolver = Resolver { addresses: *addresses, names: NameSource::System };
        Ok(Connector::new(tls, HttpVersions::All, resolver, Some(Matcher::from_system())))
    }

    pub(super) fn new(
        mut tls: ClientConfig,
        versions: HttpVersions,
        resolver: Resolver,
        proxies: Option<Matcher>,
    ) -> Self {
        let connector = |resolver| {
            let mut http = HttpConnector::new_with_resolver(resolver);
            http.enforce_http(false);
            http.set_nodelay(true);
            http
        };
        let to_proxies =
            connector(Resolver { addresses: AllowedAddresses::Any, ..resolver.clone() });
        let http = connector(resolver);
        tls.alpn_protocols = versions.protocols();
        let no_certificate =
            (!tls.client_auth_cert_resolver.has_certs()).then(Arc::<NoCertificate>::default);
        if let Some(none) = &no_certificate {
            tls.client_auth_cert_resolver = none.clone();
        }
        let proxies = proxies.map(Arc::new);
        Connector { http, to_proxies, tls: Arc::new(tls), proxies, versions, no_certificate }
    }

    /// Whether the server asked for a certificate and got none.
    pub(super) fn lacks_certificate(&self) -> bool {
        self.no_certificate.as_ref().is_some_and(|none| none.was_asked())
    }

    /// The proxy for this URI.
    fn proxy_of(&self, uri: &Uri) -> Option<Intercept> {
        self.proxies.as_ref()?.intercept(uri)
    }

    /// Same, if it forwards requests: each needs the proxy's login then. A tunnel has the login itself.
    pub(super) fn forwarding_proxy_of(&self, uri: &Uri) -> Option<Intercept> {
        if self.needs_tunnel(uri) { None } else { self.proxy_of(uri) }
    }

    fn needs_tunnel(&self, uri: &Uri) -> bool {
        uri.scheme() == Some(&Scheme::HTTPS) || self.versions == HttpVersions::OnlyHttp1
    }

    async fn dial(self, uri: Uri) -> Result<Socket, BoxError> {
        let Some(proxy) = self.proxy_of(&uri) else {
            let mut direct = HttpsConnector::from((self.http, self.tls));
            return Ok(Socket::new(direct.call(uri).await?, Route::Direct));
        };
        let needs_tunnel = self.needs_tunnel(&uri);
        let mut to_proxy = ProxyConnector::new(self.to_proxies, proxy.uri())?;
        if !needs_tunnel {
            let forwarding = to_proxy.call(proxy.uri().clone()).await?;
            return Ok(Socket::new(forwarding, Route::Forwarded));
        }
        let uri = with_port(uri)?;
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
        if let Some(login) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(login.clone());
        }
        let tunnelled = HttpsConnector::from((tunnel, self.tls)).call(uri).await?;
        Ok(Socket::new(tunnelled, Route::Tunnelled))
    }
}

/// Names the port of a plain connection: a tunnel without a port leads to that of TLS.
fn with_port(uri: Uri) -> Result<Uri, BoxError> {
    let Some(host) = uri.host().filter(|_| uri.port().is_none()) else { return Ok(uri) };
    if uri.scheme() != Some(&Scheme::HTTP) {
        return Ok(uri);
    }
    let authority = Authority::try_from(format!("{host}:80"))?;
    let mut parts = uri.into_parts();
    parts.authority = Some(authority);
    Ok(Uri::from_parts(parts)?)
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Socket>;
    type Error = BoxError;
    type Future = ConnectorFuture<TokioIo<Socket>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialling = self.clone().dial(uri);
        Box::pin(async { Ok(TokioIo::new(dialling.await?)) })
    }
}

/// Resolves a name; returns only the addresses that may be dialled.
#[derive(Clone)]
pub(super) struct Resolver {
    pub(super) addresses: AllowedAddresses,
    pub(super) names: NameSource,
}

/// Where names are resolved.
#[derive(Clone)]
pub(super) enum NameSource {
    System,
    /// The addresses of every name.
    #[cfg(test)]
    Fixed(Vec<std::net::IpAddr>),
}

impl Resolver {
    async fn resolve(self, host: String) -> Result<IntoIter<SocketAddr>, BoxError> {
        let all: Vec<SocketAddr> = match self.names {
            NameSource::System => tokio::net::lookup_host((host.as_str(), 0)).await?.collect(),
            #[cfg(test)]
            NameSource::Fixed(all) => all.into_iter().map(|it| SocketAddr::new(it, 0)).collect(),
        };
        Ok(self.addresses.retain_allowed(&host, all)?.into_iter())
    }
}

impl Service<Name> for Resolver {
    type Response = IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = ConnectorFuture<IntoIter<SocketAddr>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(self.clone().resolve(name.as_str().to_owned()))
    }
}

trait SocketStream: AsyncRead + AsyncWrite + Send + Unpin {
    fn connected(&self) -> Connected;
}

impl<T: Connection + Read + Write + Send + Unpin> SocketStream for TokioIo<T> {
    fn connected(&self) -> Connected {
        self.inner().connected()
    }
}

/// A connection to a server or to its proxy.
pub(crate) struct Socket {
    stream: Box<dyn SocketStream>,
    route: Route,
}

/// How requests reach the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    Direct,
    /// By a proxy, which needs the absolute URL.
    Forwarded,
    /// Through a proxy, which does not see them.
    Tunnelled,
}

impl Socket {
    fn new<T>(stream: T, route: Route) -> Self
    where
        T: Connection + Read + Write + Send + Unpin + 'static,
    {
        Socket { stream: Box::new(TokioIo::new(stream)), route }
    }
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        let connected = self.stream.connected();
        if self.route == Route::Direct {
            return connected;
        }
        // Without the address of its peer, which is not the server's.
        let through_proxy = Connected::new().proxy(self.route == Route::Forwarded);
        match connected.is_negotiated_h2() {
            true => through_proxy.negotiated_h2(),
            false => through_proxy,
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = ready!(Pin::new(&mut *self.stream).poll_read(context, buffer));
        // The runtime counts reads, not bytes; without this, the work of one poll would be unbounded.
        for _ in 0..(buffer.filled().len() - before) / READ_UNIT {
            match coop::poll_proceed(context) {
                Poll::Ready(unit) => unit.made_progress(),
                Poll::Pending => break,
            }
        }
        Poll::Ready(outcome)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills every read.
    struct Endless;

    impl AsyncRead for Endless {
        fn poll_read(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            ready!(coop::poll_proceed(context)).made_progress();
            buffer.put_slice(&vec![b'x'; buffer.remaining()]);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Endless {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    impl SocketStream for Endless {
        fn connected(&self) -> Connected {
            Connected::new()
        }
    }

    #[test]
    fn an_endless_stream_is_read_in_turns_however_large_the_buffer_is() {
        let mut socket = Socket { stream: Box::new(Endless), route: Route::Direct };
        let mut room = vec![0; 400 << 10];
        let reading = std::future::poll_fn(move |context| {
            let mut read = 0;
            loop {
                let mut buffer = ReadBuf::new(&mut room);
                match Pin::new(&mut socket).poll_read(context, &mut buffer) {
                    Poll::Ready(outcome) => outcome.expect("a read"),
                    Poll::Pending => return Poll::Ready(read),
                }
                read += buffer.filled().len();
            }
        });
        let turn = crate::runtime::block_on(async { tokio::spawn(reading).await.expect("a turn") });
        assert!((1 << 20..2 << 20).contains(&turn), "{turn} bytes in one turn");
    }
}
