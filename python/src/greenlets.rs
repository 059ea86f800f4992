//! Owns waiting in a greenlet of gevent: its hub runs other greenlets meanwhile. `mcpool._gevent` finds the hub.
//! Invariant: while the hub runs, no other thread refers to this greenlet's stack, because a switch moves it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use mcpool::host::{Letter, Mailbox, RawDescriptor, runtime};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors::OrRaise;
use crate::loaded::loaded_module;

/// The wake-ups for the greenlets of one hub.
#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct WakeBox {
    mailbox: Arc<Mailbox>,
    serial: AtomicU64,
}

#[pymethods]
impl WakeBox {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(WakeBox { mailbox: Mailbox::new().or_raise(py)?, serial: AtomicU64::new(1) })
    }

    /// Whether it was inherited through a fork: the hub needs another one here.
    fn is_inherited(&self) -> bool {
        self.mailbox.is_inherited()
    }

    /// Readable while there are wake-ups.
    fn fileno(&self) -> RawDescriptor {
        self.mailbox.descriptor()
    }

    /// The keys of the waits that may continue.
    fn take(&self) -> Vec<u64> {
        self.mailbox.drain().into_iter().map(|(key, _)| key).collect()
    }
}

/// A wait of the current greenlet.
pub(crate) struct GreenletWait<'py> {
    /// The `HubWaits` of its hub.
    hub: Bound<'py, PyAny>,
    key: u64,
    wakes: Arc<Wakes>,
    waker: Waker,
}

struct Wakes {
    mailbox: Arc<Mailbox>,
    key: u64,
    /// One wake-up at a time is enough.
    is_due: AtomicBool,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        if !self.is_due.swap(true, Ordering::AcqRel) {
            self.mailbox.post(self.key, Letter::Json(String::new()));
        }
    }
}

impl<'py> GreenletWait<'py> {
    /// A wait for the current greenlet; None where there is no hub to yield to.
    pub(crate) fn new(py: Python<'py>) -> PyResult<Option<Self>> {
        static HUB_WAITS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if loaded_module(py, intern!(py, "gevent"))?.is_none() {
            return Ok(None);
        }
        let hub = HUB_WAITS.import(py, "mcpool._gevent", "hub_waits")?.call0()?;
        if hub.is_none() {
            return Ok(None);
        }
        let wake_box = hub.getattr(intern!(py, "box"))?.cast_into::<WakeBox>()?;
        let (mailbox, serial) = (wake_box.get().mailbox.clone(), &wake_box.get().serial);
        let key = serial.fetch_add(1, Ordering::Relaxed);
        let wakes = Arc::new(Wakes { mailbox, key, is_due: AtomicBool::new(false) });
        Ok(Some(GreenletWait { hub, key, waker: wakes.clone().into(), wakes }))
    }

    /// Polls until there is an output; in between, the hub runs. An exception thrown into the greenlet ends the wait.
    pub(crate) fn until<T: Send>(
        &self,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T> + Send,
    ) -> PyResult<T> {
        let py = self.hub.py();
        loop {
            self.wakes.is_due.store(false, Ordering::Release);
            let waker = &self.waker;
            let polled = py.detach(|| runtime::enter(|| poll(&mut Context::from_waker(waker))));
            match polled {
                Poll::Ready(output) => return Ok(output),
                Poll::Pending => {
                    self.hub.call_method1(intern!(py, "pause"), (self.key,))?;
                }
            }
        }
    }
}

/// Waits for `work`, which blocks a thread: one of ours if this greenlet has a hub, else this one.
pub(crate) fn run_blocking(py: Python<'_>, work: impl FnOnce() + Send + 'static) -> PyResult<()> {
    let Some(wait) = GreenletWait::new(py)? else {
        py.detach(work);
        return Ok(());
    };
    let work = runtime::unblock(|| {
        work();
        Ok(())
    });
    let mut work: Pin<Box<dyn Future<Output = mcpool::Result<()>> + Send>> = Box::pin(work);
    wait.until(|context| work.as_mut().poll(context))?.or_raise(py)
}
