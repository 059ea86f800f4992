//! Owns the WebSocket transport: one message is one text frame, in both directions, over one connection. The upgrade is
//! an HTTP exchange (`http::upgrade`).
//! Invariant: messages are sent in order; the end of the connection ends the link, and a message that was still queued
//! then is known to be unsent.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use futures_util::Stream;
use futures_util::task::AtomicWaker;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as SocketError, Utf8Bytes};

use super::http::HttpLink;
use super::transport::{Endpoint, Transport};
use super::{Flush, Inbound, OutgoingMessage};
use crate::config::Limits;
use crate::error::{Error, ErrorKind, Executed, Message, Result, Stage};
use crate::fork::ForkGeneration;
use crate::oauth::Login;
use crate::redact::Mask;
use crate::resolve::Target;
use crate::runtime;
use crate::sync::lock;

mod channel;
mod pump;

use channel::{BACKLOG_LIMIT, Channel, ended};
use pump::{End, Pump};

/// How long the goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);
const READ_BUFFER: usize = 16 << 10;
const WRITE_BUFFER: usize = 16 << 10;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

pub(crate) struct WebSocketLink {
    http: Arc<HttpLink>,
    channel: Arc<Channel>,
    /// Until its messages are delivered.
    socket: Mutex<Option<Socket>>,
    task: OnceLock<AbortHandle>,
    made_in: ForkGeneration,
}

impl Transport for WebSocketLink {
    type Target = Target;
    const STARTS_PROGRAM: bool = false;
    const OPENING: Stage = Stage::Dial;
    const REPORTS_UNSENT_LATER: bool = true;
    const CALLS_END_ALONE: bool = false;

    async fn open(
        target: Target,
        login: Option<Arc<Login>>,
        limits: &Limits,
    ) -> Result<Arc<WebSocketLink>> {
        let http = HttpLink::for_upgrade(target, login, limits)?;
        let connection = http.upgrade().await?;
        let config = Some(socket_config(limits));
        let socket = WebSocketStream::from_raw_socket(connection, Role::Client, config).await;
        Ok(Arc::new(WebSocketLink {
            http,
            channel: Arc::new(Channel {
                queue: Mutex::default(),
                waker: AtomicWaker::new(),
                inbound: OnceLock::new(),
                is_closing: AtomicBool::new(false),
                has_ended: watch::Sender::new(false),
            }),
            socket: Mutex::new(Some(socket)),
            task: OnceLock::new(),
            made_in: ForkGeneration::current(),
        }))
    }

    fn deliver_to(&self, inbound: Weak<dyn Inbound>) {
        let _ = self.channel.inbound.set(inbound);
        if let Some(socket) = lock(&self.socket).take() {
            let task = runtime::spawn(run(self.http.clone(), self.channel.clone(), socket));
            let _ = self.task.set(task.abort_handle());
        }
    }

    fn send(&self, message: OutgoingMessage, id: Option<u64>, flush: Flush) -> Result<()> {
        if self.made_in.is_inherited() {
            return Err(ended());
        }
        self.channel.enqueue(message.into_json(), id)?;
        if flush == Flush::Now {
            self.channel.waker.wake();
        }
        Ok(())
    }

    fn send_control(&self, message: OutgoingMessage, id: u64) -> Result<()> {
        self.send(message, Some(id), Flush::Now)
    }

    /// Refused while the server has left more than the limit unread.
    fn send_reply(&self, message: OutgoingMessage, limits: &Limits) -> bool {
        let fits = lock(&self.channel.queue).bytes <= limits.reply_bytes;
        fits && self.send(message, None, Flush::Now).is_ok()
    }

    /// The connection keeps the order. A broken connection is reported by its end.
    async fn send_and_confirm(&self, message: OutgoingMessage) -> Result<()> {
        let _ = self.send(message, None, Flush::Now);
        Ok(())
    }

    fn flush(&self) {
        self.channel.waker.wake();
    }

    fn abandon(&self, id: u64) -> bool {
        !self.channel.withdraw(id)
    }

    async fn read_arrived(&self, late: Duration) {
        self.http.read_arrived(late).await;
    }

    fn mask(&self) -> Mask {
        self.http.mask()
    }

    fn is_over(&self) -> bool {
        lock(&self.channel.queue).has_ended
    }

    fn endpoint(&self) -> Option<Endpoint<'_>> {
        self.http.endpoint().map(|endpoint| Endpoint { protocol: "websocket", ..endpoint })
    }

    async fn close(&self) {
        if self.made_in.is_inherited() {
            return;
        }
        self.channel.is_closing.store(true, Ordering::Release);
        self.channel.waker.wake();
        if let Some(task) = self.task.get() {
            let mut has_ended = self.channel.has_ended.subscribe();
            let _ = timeout(GOODBYE, has_ended.wait_for(|ended| *ended)).await;
            task.abort();
        }
        self.http.close().await;
    }
}

impl Drop for WebSocketLink {
    fn drop(&mut self) {
        if let Some(task) = self.task.get().filter(|_| !self.made_in.is_inherited()) {
            task.abort();
        }
    }
}

/// Moves messages until the connection ends.
async fn run(http: Arc<HttpLink>, channel: Arc<Channel>, mut socket: Socket) {
    let mut pump = Pump::default();
    let end = std::future::poll_fn(|context| pump.poll(&channel, &mut socket, context)).await;
    if let Some(error) = error_of(&http, &channel, end) {
        return channel.fail(error);
    }
    let goodbye = async {
        let goodbye = CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::default() };
        let _ = socket.close(Some(goodbye)).await;
        // The server confirms with a close frame.
        while let Some(Ok(_)) = std::future::poll_fn(|it| Pin::new(&mut socket).poll_next(it)).await
        {
        }
    };
    let _ = timeout(GOODBYE, goodbye).await;
    channel.end();
}

/// The error of calls in flight, unless we close the connection.
fn error_of(http: &HttpLink, channel: &Channel, end: End) -> Option<Error> {
    let lost = match end {
        End::Ours => return None,
        End::Closed(None) | End::Broken(SocketError::ConnectionClosed) => {
            http.peer.lost("The server closed the connection")
        }
        End::Closed(Some(frame)) => {
            let CloseFrame { code, reason } = frame;
            let code = u16::from(code);
            let what = format!("The server closed the connection ({code} ");
            http.peer.lost(Message::new(what).others(&reason).text(")"))
        }
        End::Broken(SocketError::Capacity(CapacityError::MessageTooLong { .. })) => {
            let too_long = http.over_limit().with_executed(Executed::Unknown).incurable();
            channel.fail_only_request(&too_long);
            http.peer.lost("The server sent a message that is too long").caused_by(too_long)
        }
        End::Broken(SocketError::Utf8(_)) => {
            let text = "The server sent a message that is not valid UTF-8";
            let unreadable = http.peer.error(ErrorKind::ProtocolError, text);
            let unreadable = unreadable.with_executed(Executed::Unknown);
            channel.fail_only_request(&unreadable);
            http.peer.lost("The server sent an unreadable message").caused_by(unreadable)
        }
        End::Broken(SocketError::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => {
            http.peer.lost("The server broke the connection off")
        }
        End::Broken(error) => http.peer.lost_by("The connection broke", &error),
        End::PingFlood => http.peer.lost("The server sends pings and does not read the answers"),
    };
    Some(lost.with_executed(Executed::Unknown))
}

/// The messages of a frame.
#[cfg(any(test, fuzzing))]
pub(super) fn messages_of(frame: bytes::Bytes) -> Vec<bytes::Bytes> {
    let mut messages = Vec::new();
    channel::each_message(frame, |message| messages.push(message));
    messages
}

pub(super) fn socket_config(limits: &Limits) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        // The largest message with its frame, behind what is buffered.
        .max_write_buffer_size(BACKLOG_LIMIT + 2 * WRITE_BUFFER)
        .max_message_size(Some(limits.message_bytes))
        .max_frame_size(Some(limits.message_bytes))
}
