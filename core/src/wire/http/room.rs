//! Owns how much of answers that are not complete a link keeps: each may be as long as a message, all of them together
//! as long as a few.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many longest messages there is room for.
const MESSAGES: usize = 4;

pub(super) struct Room {
    taken: AtomicUsize,
    limit: usize,
}

impl Room {
    pub(super) fn new(message_limit: usize) -> Self {
        Room { taken: AtomicUsize::new(0), limit: message_limit.saturating_mul(MESSAGES) }
    }

    pub(super) fn share(&self) -> Share<'_> {
        Share { room: self, bytes: 0 }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }
}

/// What one answer takes of the room, given back with it.
pub(super) struct Share<'a> {
    room: &'a Room,
    bytes: usize,
}

impl Share<'_> {
    /// The answer is this long now; tells whether there is room for it.
    pub(super) fn set(&mut self, bytes: usize) -> bool {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let taken = &self.room.taken;
        let all = match bytes.checked_sub(before) {
            Some(more) => taken.fetch_add(more, Ordering::Relaxed) + more,
            None => taken.fetch_sub(before - bytes, Ordering::Relaxed),
        };
        all <= self.room.limit
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answers_share_one_room_and_give_it_back() {
        let room = Room::new(100);
        let mut shares: Vec<_> = (0..5).map(|_| room.share()).collect();
        assert!(shares.iter_mut().take(4).all(|share| share.set(100)));
        assert!(!shares[4].set(1));
        shares[0].set(50);
        assert!(shares[4].set(50));
        drop(shares);
        assert_eq!(room.taken.load(Ordering::Relaxed), 0);
    }
}
