//! Owns an end that several callers wait for; it comes once.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::Shared;

/// The end of some work. Its clones end together.
#[derive(Clone)]
pub(crate) struct Completion(Shared<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Completion {
    /// Nothing is left to end.
    pub(crate) fn done() -> Self {
        Completion::new(std::future::ready(()))
    }

    pub(crate) fn new(end: impl Future<Output = ()> + Send + 'static) -> Self {
        let end: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(end);
        Completion(end.shared())
    }
}

impl Future for Completion {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll_unpin(context)
    }
}
