//! Owns the pipes between us and our children. They are named pipes, because Windows has no overlapped I/O on anonymous
//! ones. A child gets a plain handle, as it would of an anonymous pipe.
//! Invariant: our ends are never inherited by a child, and reading or writing them never blocks.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::windows::io::OwnedHandle;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use futures_util::FutureExt;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};
use tokio::task::AbortHandle;

use super::spawn::Stdio;
use crate::runtime;
use crate::sync::lock;

/// A pipe that a task writes to.
pub(crate) type Sender = NamedPipeServer;

const PIPE_SIZE: u32 = 64 << 10;
/// How long the end of an exited process's output is waited for. It comes at once, unless another process has the
/// pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// Our end of a server's stdin or stdout.
pub(crate) struct PipeEnd {
    pipe: Arc<NamedPipeServer>,
    /// Waits until the pipe is ready. It has the pipe open too.
    watch: Mutex<Option<AbortHandle>>,
}

impl PipeEnd {
    fn new(pipe: NamedPipeServer) -> Self {
        PipeEnd { pipe: Arc::new(pipe), watch: Mutex::default() }
    }

    /// Reads into the spare capacity of the buffer; 0 bytes are the end.
    pub(crate) fn read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self.pipe.try_read_buf(buffer) {
            // A process may write nothing, which is read as nothing.
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            read => read,
        }
    }

    /// Returns how many bytes were accepted.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.pipe.try_write(bytes)
    }

    /// An estimate of how many bytes can be read now: some may be in a buffer of tokio's.
    pub(crate) fn available(&self) -> usize {
        PIPE_SIZE as usize
    }

    /// Not known before a write fails.
    pub(crate) fn has_reader(&self) -> bool {
        true
    }

    /// Windows does not count them.
    pub(crate) fn left_unread(&self) -> u64 {
        0
    }

    pub(crate) fn may_count_more(&self) -> bool {
        false
    }

    pub(crate) fn capacity(&self) -> usize {
        0
    }

    /// Windows has no fork.
    pub(crate) fn is_inherited(&self) -> bool {
        false
    }

    /// Runs `watch` with the pipe until [`PipeEnd::unwatch`]. What was run before has ended.
    pub(crate) fn watch<W>(&self, watch: impl FnOnce(Arc<NamedPipeServer>) -> W)
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let task = runtime::spawn(watch(self.pipe.clone())).abort_handle();
        *lock(&self.watch) = Some(task);
    }

    pub(crate) fn unwatch(&self) {
        if let Some(watch) = lock(&self.watch).take() {
            watch.abort();
        }
    }
}

/// A pipe that a task reads.
pub(crate) struct Receiver(NamedPipeServer);

impl AsyncRead for Receiver {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.remaining();
        loop {
            match ready!(Pin::new(&mut self.0).poll_read(context, buffer)) {
                // As in `PipeEnd::read`: nothing read is nothing written, and an error is the end.
                Ok(()) if buffer.remaining() == before && before > 0 => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Poll::Ready(Ok(()));
                }
                read => return Poll::Ready(read),
            }
        }
    }
}

/// Resolves when all that an exited process has written can be read. The end of its output usually comes before.
pub(crate) async fn last_output_arrived() {
    tokio::time::sleep(LAST_OUTPUT).await;
}

/// Our ends of stdin, stdout and stderr, and the child's.
pub(super) type PipeEnds = (PipeEnd, PipeEnd, Receiver, Stdio);

pub(super) fn pipes() -> io::Result<PipeEnds> {
    let (stdin_ours, stdin_theirs) = sender()?;
    let (stdout_ours, stdout_theirs) = inbound()?;
    let (stderr_ours, stderr_theirs) = receiver()?;
    let stdio = [stdin_theirs, stdout_theirs, stderr_theirs];
    Ok((PipeEnd::new(stdin_ours), PipeEnd::new(stdout_ours), stderr_ours, stdio))
}

/// A pipe that a task reads.
pub(super) fn receiver() -> io::Result<(Receiver, OwnedHandle)> {
    inbound().map(|(ours, theirs)| (Receiver(ours), theirs))
}

/// A pipe that a task writes to.
pub(super) fn sender() -> io::Result<(Sender, OwnedHandle)> {
    pipe(ServerOptions::new().access_inbound(false), File::options().read(true))
}

fn inbound() -> io::Result<(NamedPipeServer, OwnedHandle)> {
    pipe(ServerOptions::new().access_outbound(false), File::options().write(true))
}

fn pipe(
    ours: &mut ServerOptions,
    theirs: &std::fs::OpenOptions,
) -> io::Result<(NamedPipeServer, OwnedHandle)> {
    // Nobody can guess the name, and nobody else can connect: there is one instance, and we connect to it.
    let random = RandomState::new().hash_one(std::process::id());
    let name = format!(r"\\.\pipe\mcpool-{}-{random:016x}", std::process::id());
    ours.first_pipe_instance(true).max_instances(1);
    ours.in_buffer_size(PIPE_SIZE).out_buffer_size(PIPE_SIZE);
    let _inside = runtime::handle().enter();
    let ours = ours.create(&name)?;
    let theirs = theirs.open(&name)?;
    // The other end is there already.
    let connected = ours.connect().now_or_never();
    connected.unwrap_or_else(|| Err(io::Error::other("another process took the pipe")))?;
    Ok((ours, theirs.into()))
}
