//! Owns the address that a browser returns to after a sign-in.
//! Invariant: it listens on loopback only, answers nobody who came by another name, and ends with its flow.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, REFERRER_POLICY};
use http::{Method, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The path of the callback.
pub(super) const PATH: &str = "/callback";
/// How long a visitor may take.
const VISIT: Duration = Duration::from_secs(30);
/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How many visitors there may be at a time.
const VISITORS: usize = 64;
/// How long the head of a request may be.
const HEAD: usize = 32 << 10;

/// The page that a visitor gets.
pub(super) struct Page {
    pub(super) status: StatusCode,
    pub(super) text: &'static str,
}

/// Handles the query of a callback.
pub(super) type Handler = dyn Fn(String) -> BoxFuture<'static, Page> + Send + Sync;

/// The sockets of a callback address.
pub(super) struct Listener {
    sockets: Vec<TcpListener>,
    host: String,
    port: u16,
}

impl Listener {
    /// Binds a port, or any that is free.
    pub(super) async fn bind(host: &str, port: Option<u16>) -> io::Result<Self> {
        let (v4, v6) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
        let addresses = match host {
            "localhost" => vec![v4, v6],
            _ => vec![v4],
        };
        let mut sockets: Vec<TcpListener> = Vec::new();
        let mut wanted = port.unwrap_or(0);
        for address in addresses {
            match TcpListener::bind(SocketAddr::new(address, wanted)).await {
                Ok(socket) => {
                    wanted = socket.local_addr()?.port();
                    sockets.push(socket);
                }
                // Without IPv6, or where another program has the port there.
                Err(_) if !sockets.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Listener { sockets, host: host.to_owned(), port: wanted })
    }

    pub(super) fn redirect_uri(&self) -> String {
        redirect_uri(&self.host, self.port)
    }

    /// Serves until it is dropped.
    pub(super) async fn serve(self, handler: Arc<Handler>) {
        let visitors = Arc::new(Semaphore::new(VISITORS));
        let host: Arc<str> = authority(&self.host, self.port).into();
        let serving = self.sockets.iter().map(|socket| {
            let (handler, visitors, host) = (handler.clone(), visitors.clone(), host.clone());
            async move {
                loop {
                    let Ok(place) = visitors.clone().acquire_owned().await else { return };
                    let Ok((stream, _)) = socket.accept().await else {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    };
                    let visit = visit(stream, handler.clone(), host.clone());
                    crate::runtime::spawn(async move {
                        let _ = timeout(VISIT, visit).await;
                        drop(place);
                    });
                }
            }
        });
        futures_util::future::join_all(serving).await;
    }
}

/// The address of a callback.
pub(super) fn redirect_uri(host: &str, port: u16) -> String {
    format!("http://{}{PATH}", authority(host, port))
}

fn authority(host: &str, port: u16) -> String {
    format!("{host}:{port}")
}

async fn visit(stream: TcpStream, handler: Arc<Handler>, host: Arc<str>) {
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (handler, host) = (handler.clone(), host.clone());
        async move { Ok::<_, Infallible>(response(answer(request, &*handler, &host).await)) }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .keep_alive(false)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(request: http::Request<Incoming>, handler: &Handler, host: &str) -> Page {
    // A name that was made to lead here is not ours.
    let named = request.headers().get(HOST).and_then(|named| named.to_str().ok());
    if !named.is_some_and(|named| named.eq_ignore_ascii_case(host)) {
        return Page { status: StatusCode::MISDIRECTED_REQUEST, text: "This is not the place." };
    }
    if request.uri().path() != PATH || request.method() != Method::GET {
        return Page { status: StatusCode::NOT_FOUND, text: "There is nothing here." };
    }
    handler(request.uri().query().unwrap_or_default().to_owned()).await
}

fn response(page: Page) -> http::Response<Full<Bytes>> {
    let body = format!(
        "<!doctype html><meta charset=utf-8><title>mcpool</title>\
         <body style=\"font:16px system-ui;margin:4em auto;max-width:30em\"><p>{}",
        page.text
    );
    let mut response = http::Response::new(Full::new(body.into()));
    *response.status_mut() = page.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
