//! Owns moving messages between the queue, the socket and the session.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use futures_util::{Sink, Stream};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

use super::Socket;
use super::channel::Channel;

/// How many pings may wait for their pongs to be read.
const UNREAD_PONGS: usize = 8 << 10;

/// How a connection ended.
pub(super) enum End {
    /// We want to close it.
    Ours,
    /// The server closed it.
    Closed(Option<CloseFrame>),
    Broken(SocketError),
    /// The server sends pings and does not read the pongs.
    PingFlood,
}

/// Moves messages between the queue, the socket and the session.
#[derive(Default)]
pub(super) struct Pump {
    has_unflushed: bool,
    /// Pings since the socket last accepted all that we sent.
    unread_pongs: usize,
}

impl Pump {
    pub(super) fn poll(
        &mut self,
        channel: &Channel,
        socket: &mut Socket,
        context: &mut Context<'_>,
    ) -> Poll<End> {
        channel.waker.register(context.waker());
        loop {
            if let Err(error) = self.write(channel, socket, context) {
                return Poll::Ready(End::Broken(error));
            }
            if channel.is_closing.load(Ordering::Acquire) {
                return Poll::Ready(End::Ours);
            }
            match Pin::new(&mut *socket).poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(message))) => match message {
                    Message::Text(text) => channel.deliver(text.into()),
                    Message::Binary(bytes) => channel.deliver(bytes),
                    Message::Ping(_) => {
                        (self.has_unflushed, self.unread_pongs) = (true, self.unread_pongs + 1);
                        if self.unread_pongs > UNREAD_PONGS {
                            return Poll::Ready(End::PingFlood);
                        }
                    }
                    // Nothing comes after it, although the server may leave the connection open. The answer to it is
                    // sent as far as the connection takes it now.
                    Message::Close(frame) => {
                        let _ = Pin::new(&mut *socket).poll_flush(context);
                        return Poll::Ready(End::Closed(frame));
                    }
                    Message::Pong(_) | Message::Frame(_) => {}
                },
                Poll::Ready(Some(Err(error))) => return Poll::Ready(End::Broken(error)),
                Poll::Ready(None) => return Poll::Ready(End::Closed(None)),
            }
        }
    }

    fn write(
        &mut self,
        channel: &Channel,
        socket: &mut Socket,
        context: &mut Context<'_>,
    ) -> Result<(), SocketError> {
        let mut socket = Pin::new(socket);
        while let Poll::Ready(ready) = socket.as_mut().poll_ready(context) {
            ready?;
            let Some(text) = channel.next() else { break };
            socket.as_mut().start_send(Message::Text(text))?;
            self.has_unflushed = true;
        }
        if self.has_unflushed
            && let Poll::Ready(flushed) = socket.poll_flush(context)
        {
            flushed?;
            (self.has_unflushed, self.unread_pongs) = (false, 0);
        }
        Ok(())
    }
}
