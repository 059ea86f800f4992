//! Owns the proof that a request was never read: where each one ends in the stream of bytes, compared with how far the
//! server has read once nobody can read any more.
//! Invariant: what is proved never ran and never will; whatever is in doubt counts as read.

use std::collections::VecDeque;

/// Kept for the next requests.
const KEEP_ROOM: usize = 1 << 10;

/// Where the requests of one pipe end, as far as they may lie unread in it.
pub(super) struct Positions {
    /// Ids, each with the position behind its last byte, in the order of the stream.
    requests: VecDeque<(u64, u64)>,
    /// The newest id that was read for certain, and so is not kept any more.
    newest_read: u64,
    /// What the pipe holds at most.
    capacity: u64,
}

impl Positions {
    pub(super) fn new(capacity: usize) -> Self {
        Positions { requests: VecDeque::new(), newest_read: 0, capacity: capacity as u64 }
    }

    /// Notes that request `id` ends at `end`. The pipe has taken `written` bytes by now.
    pub(super) fn note(&mut self, id: u64, end: u64, written: u64) {
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

    /// What follows once nobody reads any more, and `read` bytes were.
    pub(super) fn unread(&mut self, read: u64) -> Unread {
        // A server might act on a request whose line end it has not seen.
        let was_read = |end: u64| read + 1 >= end;
        let requests = std::mem::take(&mut self.requests).into_iter();
        let read = requests.filter(|&(_, end)| was_read(end)).map(|(id, _)| id).collect();
        Unread { newest_read: self.newest_read, read }
    }
}

/// Which requests of a link that has ended were never read.
pub(crate) struct Unread {
    newest_read: u64,
    read: Vec<u64>,
}

impl Unread {
    /// Whether request `id` was not, and so did not run.
    pub(crate) fn proves(&self, id: u64) -> bool {
        // What is not known was read long ago, or has not even been written.
        id > self.newest_read && !self.read.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_behind_the_last_byte_read_was_not_read() {
        let mut positions = Positions::new(1000);
        for id in 1..=4 {
            positions.note(id, id * 100, id * 100);
        }
        let unread = positions.unread(299);
        let proved: Vec<u64> = (1..=5).filter(|&id| unread.proves(id)).collect();
        // The third was read but for its line end; the fifth was never written.
        assert_eq!(proved, [4, 5]);
    }

    #[test]
    fn requests_that_were_read_long_ago_are_forgotten_and_stay_read() {
        let mut positions = Positions::new(1000);
        for id in 1..=1_000_000 {
            positions.note(id, id * 100, id * 100);
        }
        assert!(positions.requests.len() <= 11, "{}", positions.requests.len());
        let unread = positions.unread(100_000_000 - 150);
        assert!((1..=999_998).all(|id| !unread.proves(id)));
        assert!(unread.proves(999_999) && unread.proves(1_000_000));
    }

    #[test]
    fn what_waits_before_the_pipe_is_not_read() {
        let mut positions = Positions::new(1000);
        positions.note(1, 100, 60);
        positions.note(2, 200, 60);
        let unread = positions.unread(60);
        assert!(unread.proves(1) && unread.proves(2));
    }
}
