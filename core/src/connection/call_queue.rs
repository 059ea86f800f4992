//! Owns the turns of the calls to a server that takes only some at once (`maxConcurrency`). Managers take turns, and the
//! calls of one manager stay in order.
//! Invariant: there are never more permits than the limit allows, and a call that stops waiting leaves the queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::sync::lock;

/// The queue of one connection.
#[derive(Default)]
pub(crate) struct CallQueue(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    /// No limit without it.
    limit: Option<usize>,
    /// Permits that were given out.
    active: usize,
    last_ticket: u64,
    /// The waiting calls of each manager; the first manager is next.
    lanes: VecDeque<Lane>,
}

struct Lane {
    manager: usize,
    waiting: VecDeque<WaitingCall>,
}

struct WaitingCall {
    ticket: u64,
    turn: oneshot::Sender<CallPermit>,
}

/// The right to have one call in flight; dropping it lets the next call go.
pub(crate) struct CallPermit(Arc<CallQueue>);

impl Drop for CallPermit {
    fn drop(&mut self) {
        let queue = self.0.clone();
        lock(&queue.0).active -= 1;
        queue.grant();
    }
}

impl CallQueue {
    pub(crate) fn set_limit(self: &Arc<Self>, limit: Option<usize>) {
        lock(&self.0).limit = limit;
        self.grant();
    }

    /// How many calls wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).lanes.iter().map(|lane| lane.waiting.len()).sum()
    }

    /// Puts a call of this manager into the queue.
    pub(crate) fn enter(self: &Arc<Self>, manager: usize) -> Turn {
        let (turn, granted) = oneshot::channel();
        let ticket = {
            let mut state = lock(&self.0);
            state.last_ticket += 1;
            let ticket = state.last_ticket;
            state.enqueue(manager, WaitingCall { ticket, turn });
            ticket
        };
        self.grant();
        Turn { queue: self.clone(), ticket, granted }
    }

    /// Gives permits to waiting calls, as far as the limit allows.
    fn grant(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = lock(&self.0);
                if state.limit.is_some_and(|limit| state.active >= limit) {
                    return;
                }
                let Some(next) = state.take_next() else { return };
                state.active += 1;
                next
            };
            // Outside of the lock: a call that is gone returns its permit here.
            let _ = next.turn.send(CallPermit(self.clone()));
        }
    }
}

impl QueueState {
    fn enqueue(&mut self, manager: usize, call: WaitingCall) {
        match self.lanes.iter_mut().find(|lane| lane.manager == manager) {
            Some(lane) => lane.waiting.push_back(call),
            None => self.lanes.push_back(Lane { manager, waiting: VecDeque::from([call]) }),
        }
    }

    fn take_next(&mut self) -> Option<WaitingCall> {
        let mut lane = self.lanes.pop_front()?;
        let next = lane.waiting.pop_front();
        if !lane.waiting.is_empty() {
            self.lanes.push_back(lane);
        }
        next
    }
}

/// A call's place in the queue; dropping it leaves the queue.
pub(crate) struct Turn {
    queue: Arc<CallQueue>,
    ticket: u64,
    granted: oneshot::Receiver<CallPermit>,
}

impl Turn {
    /// The permit, if the call need not wait.
    pub(crate) fn try_take(&mut self) -> Option<CallPermit> {
        self.granted.try_recv().ok()
    }

    pub(crate) async fn wait(mut self) -> CallPermit {
        match (&mut self.granted).await {
            Ok(permit) => permit,
            // The sender lives in the queue, which this call holds.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.0);
        for lane in &mut state.lanes {
            lane.waiting.retain(|call| call.ticket != self.ticket);
        }
        state.lanes.retain(|lane| !lane.waiting.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::runtime::block_on;

    fn queue(limit: usize) -> Arc<CallQueue> {
        let queue = Arc::<CallQueue>::default();
        queue.set_limit(Some(limit));
        queue
    }

    /// Enqueues calls of these managers in this order, and returns the order in which they get their turns.
    fn turns(queue: &Arc<CallQueue>, managers: &[usize]) -> Vec<usize> {
        block_on(async {
            let held = queue.enter(0).wait().await;
            let order = Arc::<Mutex<Vec<usize>>>::default();
            let call = |manager: usize| {
                let (turn, order) = (queue.enter(manager).wait(), order.clone());
                async move {
                    let _permit = turn.await;
                    lock(&order).push(manager);
                }
            };
            let calls = futures_util::future::join_all(managers.iter().map(|&it| call(it)));
            let mut calls = std::pin::pin!(calls);
            assert!((&mut calls).now_or_never().is_none());
            assert_eq!(queue.len(), managers.len());
            drop(held);
            calls.await;
            assert_eq!(queue.len(), 0);
            Arc::into_inner(order).map(|order| order.into_inner().unwrap()).unwrap()
        })
    }

    #[test]
    fn managers_take_turns() {
        assert_eq!(turns(&queue(1), &[1, 1, 1, 2, 2, 3]), [1, 2, 3, 1, 2, 1]);
    }

    #[test]
    fn the_limit_is_kept_and_a_higher_one_lets_more_go() {
        let queue = queue(2);
        let held: Vec<_> = (0..2).map(|_| queue.enter(1).try_take().unwrap()).collect();
        let mut third = queue.enter(1);
        assert!(third.try_take().is_none());
        queue.set_limit(Some(3));
        let third = third.try_take().expect("a turn");
        drop((held, third));
        assert_eq!(lock(&queue.0).active, 0);
    }

    #[test]
    fn a_call_that_stops_waiting_leaves_the_queue() {
        let queue = queue(1);
        let held = queue.enter(1).try_take().unwrap();
        let gone = queue.enter(2);
        assert_eq!(queue.len(), 1);
        drop(gone);
        assert_eq!(queue.len(), 0);
        drop(held);
        assert!(queue.enter(3).try_take().is_some());
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        let queue = Arc::<CallQueue>::default();
        let held: Vec<_> = (0..100).map(|_| queue.enter(1).try_take().unwrap()).collect();
        assert_eq!(held.len(), 100);
    }
}
