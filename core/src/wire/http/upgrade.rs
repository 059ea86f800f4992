//! Owns the upgrade of an HTTP connection to WebSocket.
//! Invariant: a connection is handed out only if the server has proved that it speaks WebSocket.

use http::header::{
    CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Method, StatusCode};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::HttpLink;
use super::exchange::BOTH_KINDS;
use super::failure::ExchangeFailure;
use super::login::NotSent;
use crate::error::Result;
use crate::http_client::Response;

impl HttpLink {
    /// Opens a WebSocket.
    pub(in crate::wire) async fn upgrade(&self) -> Result<TokioIo<Upgraded>> {
        self.upgraded().await.map_err(|failure| failure.error)
    }

    async fn upgraded(&self) -> Result<TokioIo<Upgraded>, ExchangeFailure> {
        let key = generate_key();
        let mut outgoing = self.outgoing(Method::GET, BOTH_KINDS)?;
        for (name, value) in [
            (CONNECTION, "Upgrade"),
            (UPGRADE, "websocket"),
            (SEC_WEBSOCKET_VERSION, "13"),
            (SEC_WEBSOCKET_PROTOCOL, "mcp"),
            (SEC_WEBSOCKET_KEY, &key),
        ] {
            let value = HeaderValue::from_str(value).expect("words and base64 are header values");
            outgoing.request = outgoing.request.header(name, value);
        }
        let response = match outgoing.send().await {
            Ok(response) => response,
            Err(NotSent::Failed(error)) => return Err(self.not_reached(&error).await),
            Err(NotSent::Refused(failure)) => return Err(failure),
        };
        let status = response.status();
        if status != StatusCode::SWITCHING_PROTOCOLS {
            if !status.is_success() {
                return Err(self.refused(response, false).await);
            }
            let what = format!("answered {status} instead of opening a WebSocket");
            return Err(self.unexpected(&what).into());
        }
        if let Some(mistake) = handshake_mistake(&response, &key) {
            return Err(self.unexpected(mistake).into());
        }
        match response.upgraded().await {
            Ok(socket) => Ok(TokioIo::new(socket)),
            Err(error) => Err(self.cut_off(&error).await),
        }
    }
}

/// A subprotocol is not required: many servers name none. One that we did not offer is a mistake.
fn handshake_mistake(response: &Response, key: &str) -> Option<&'static str> {
    let header = |name: HeaderName| response.headers().get(name).map(HeaderValue::as_bytes);
    let is_websocket = header(UPGRADE).is_some_and(|to| to.eq_ignore_ascii_case(b"websocket"));
    let accepted = derive_accept_key(key.as_bytes());
    if !is_websocket || header(SEC_WEBSOCKET_ACCEPT) != Some(accepted.as_bytes()) {
        return Some("did not complete the WebSocket handshake");
    }
    match header(SEC_WEBSOCKET_PROTOCOL) {
        None | Some(b"" | b"mcp") => None,
        Some(_) => Some("chose a WebSocket subprotocol other than \"mcp\""),
    }
}
