//! Owns the table of waiters for letters, by key, and how many of them keep the process alive.
//! Invariant: a slot is held by one key at a time, and a letter for another key does not reach it.

use std::cell::{Cell, RefCell};

use mcpool::host::{CallHandle, Listening};

use crate::PLACES;

#[derive(Default)]
pub(crate) struct Table {
    places: RefCell<Vec<Option<(u64, Waiting)>>>,
    holding: Cell<usize>,
}

pub(crate) struct Waiting {
    pub(crate) stop: Stop,
    /// Whether it keeps the process alive.
    pub(crate) holds: bool,
    /// The core's questions can be put to whoever waits.
    pub(crate) _listening: Option<Listening>,
}

/// How to stop what is waited for.
pub(crate) enum Stop {
    Call(CallHandle),
    Verb(Box<dyn FnOnce()>),
    /// It has ended already.
    Nothing,
}

fn place(key: u64) -> usize {
    (key & u64::from(PLACES - 1)) as usize
}

impl Table {
    pub(crate) fn insert(&self, key: u64, waiting: Waiting) {
        self.holding.set(self.holding.get() + usize::from(waiting.holds));
        let (mut places, place) = (self.places.borrow_mut(), place(key));
        if places.len() <= place {
            places.resize_with(place + 1, || None);
        }
        places[place] = Some((key, waiting));
    }

    pub(crate) fn remove(&self, key: u64) -> Option<Waiting> {
        let mut places = self.places.borrow_mut();
        let (_, waiting) = places.get_mut(place(key))?.take_if(|(known, _)| *known == key)?;
        self.holding.set(self.holding.get() - usize::from(waiting.holds));
        Some(waiting)
    }

    pub(crate) fn knows(&self, key: u64) -> bool {
        let places = self.places.borrow();
        places.get(place(key)).is_some_and(|held| held.as_ref().is_some_and(|held| held.0 == key))
    }

    /// Whether anybody in it keeps the process alive.
    pub(crate) fn holds(&self) -> bool {
        self.holding.get() > 0
    }

    pub(crate) fn clear(&self) {
        self.places.borrow_mut().clear();
        self.holding.set(0);
    }
}
