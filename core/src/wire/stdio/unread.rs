//! Owns the proof that a request was never read: it compares the position of each request in the byte stream with how
//! far the server has read at most, once nothing more is written.
//! Invariant: a request that is proved unread never ran and never will; a doubtful one counts as read.

use std::collections::VecDeque;

use crate::wire::UnreadRequests;

/// Kept for the next requests.
const KEEP_ROOM: usize = 1 << 10;

/// Where the requests of one pipe end, for those that may still be unread.
pub(super) struct Positions {
    /// Ids, each with the position after its last byte, in stream order.
    requests: VecDeque<(u64, u64)>,
    /// The newest id that was certainly read and is not kept any more.
    newest_read: u64,
    /// How many bytes that the pipe has accepted may be known to be unread.
    capacity: u64,
}

impl Positions {
    pub(super) fn new(capacity: usize) -> Self {
        Positions { requests: VecDeque::new(), newest_read: 0, capacity: capacity as u64 }
    }

    /// Records that request `id` ends at `end`. The pipe has accepted `written` bytes so far.
    pub(super) fn note_request(&mut self, id: u64, end: u64, written: u64) {
        while let Some(&(oldest, at)) = self.requests.front()
            && at + self.capacity <= written
        {
            self.newest_read = self.newest_read.max(oldest);
            self.requests.pop_front();
        }
        if self.requests.is_empty() {
            self.requests.shrink_to(KEEP_ROOM);
        }
        self.requests.push_back((id, end));
    }

    /// The unread requests, once nothing more is written or read and at most `read` bytes were read.
    pub(super) fn unread(&mut self, read: u64) -> UnreadRequests {
        // A server might act on a request before it has read the newline.
        let was_read = |end: u64| read + 1 >= end;
        let requests = std::mem::take(&mut self.requests).into_iter();
        let read = requests.filter(|&(_, end)| was_read(end)).map(|(id, _)| id).collect();
        UnreadRequests::After { newest_read: self.newest_read, read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_ends_after_the_last_byte_read_was_not_read() {
        let mut positions = Positions::new(1000);
        for id in 1..=4 {
            positions.note_request(id, id * 100, id * 100);
        }
        let unread = positions.unread(299);
        let proved: Vec<u64> = (1..=5).filter(|&id| unread.proves(id)).collect();
        // The third was read except for its newline; the fifth was never written.
        assert_eq!(proved, [4, 5]);
    }

    #[test]
    fn requests_that_were_read_long_ago_are_forgotten_and_stay_read() {
        let mut positions = Positions::new(1000);
        for id in 1..=1_000_000 {
            positions.note_request(id, id * 100, id * 100);
        }
        assert!(positions.requests.len() <= 11, "{}", positions.requests.len());
        let unread = positions.unread(100_000_000 - 150);
        assert!((1..=999_998).all(|id| !unread.proves(id)));
        assert!(unread.proves(999_999) && unread.proves(1_000_000));
    }

    #[test]
    fn a_buffered_request_was_not_read() {
        let mut positions = Positions::new(1000);
        positions.note_request(1, 100, 60);
        positions.note_request(2, 200, 60);
        let unread = positions.unread(60);
        assert!(unread.proves(1) && unread.proves(2));
    }
}
