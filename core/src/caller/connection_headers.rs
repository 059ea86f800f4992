//! Owns the headers of a connection's identity, and which values of callers' headers the connection's mask hides.
//! Invariant: a value is hidden from the moment it is sent, until many others have been sent since.

use std::collections::VecDeque;
use std::sync::Mutex;

use arc_swap::ArcSwapOption;

use super::CallerHeaders;
use crate::redact::{Mask, MaskBuilder};
use crate::sync::lock;

/// How many sets of headers are hidden; calls may bring new ones each time.
const HIDDEN: usize = 64;

/// The headers of one connection, which outlive its sessions.
#[derive(Default)]
pub(crate) struct ConnectionHeaders {
    /// Those of its identity, sent with every request that brings none of its own.
    current: ArcSwapOption<CallerHeaders>,
    /// Allocated by the first headers: most connections have none.
    hidden: Mutex<Option<Box<Hidden>>>,
}

#[derive(Default)]
struct Hidden {
    sets: VecDeque<CallerHeaders>,
    /// The mask of the definition's values, and the mask of these with the headers.
    built: Option<(Mask, Mask)>,
}

impl ConnectionHeaders {
    /// Sets the headers of the identity; returns whether they are others than before.
    pub(crate) fn set(&self, headers: &CallerHeaders) -> bool {
        if self.current().as_ref() == Some(headers) {
            return false;
        }
        self.hide(headers);
        self.current.store(Some(headers.clone().into()));
        true
    }

    pub(crate) fn current(&self) -> Option<CallerHeaders> {
        self.current.load().as_deref().cloned()
    }

    /// Hides these values from now on.
    pub(crate) fn hide(&self, headers: &CallerHeaders) {
        let mut hidden = lock(&self.hidden);
        let hidden = hidden.get_or_insert_default();
        if hidden.sets.contains(headers) {
            return;
        }
        hidden.sets.push_back(headers.clone());
        if hidden.sets.len() > HIDDEN {
            hidden.sets.pop_front();
        }
        hidden.built = None;
    }

    /// The mask of a definition's values, extended by the headers.
    pub(crate) fn mask(&self, definition: &Mask) -> Mask {
        let mut hidden = lock(&self.hidden);
        let Some(hidden) = &mut *hidden else { return definition.clone() };
        if let Some((of, built)) = &hidden.built
            && of.is_same(definition)
        {
            return built.clone();
        }
        let mut values = MaskBuilder::default();
        hidden.sets.iter().for_each(|headers| headers.add_to(&mut values));
        let built = values.build_over(definition);
        hidden.built = Some((definition.clone(), built.clone()));
        built
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> CallerHeaders {
        CallerHeaders::new([("X-Api-Key", value)]).unwrap()
    }

    #[test]
    fn values_of_callers_and_of_the_definition_are_hidden() {
        let mut definition = MaskBuilder::default();
        definition.header("Authorization", "Bearer definition-t0ken");
        let definition = definition.build();
        let connection = ConnectionHeaders::default();
        assert!(connection.mask(&definition).is_same(&definition));
        connection.set(&headers("first-s3cret"));
        connection.hide(&headers("second-s3cret"));
        let said = "definition-t0ken first-s3cret second-s3cret third-s3cret";
        assert_eq!(connection.mask(&definition).text(said), "*** *** *** third-s3cret");
        connection.hide(&headers("third-s3cret"));
        assert_eq!(connection.mask(&definition).text(said), "*** *** *** ***");
    }

    #[test]
    fn the_same_headers_change_nothing() {
        let connection = ConnectionHeaders::default();
        assert!(connection.set(&headers("first-s3cret")));
        let mask = connection.mask(&Mask::default());
        assert!(!connection.set(&headers("first-s3cret")));
        assert!(connection.mask(&Mask::default()).is_same(&mask));
        assert!(connection.set(&headers("second-s3cret")));
    }

    #[test]
    fn the_number_of_hidden_sets_is_bounded() {
        let connection = ConnectionHeaders::default();
        for number in 0..3 * HIDDEN {
            connection.hide(&headers(&format!("s3cret-number-{number:04}")));
        }
        assert_eq!(lock(&connection.hidden).as_ref().unwrap().sets.len(), HIDDEN);
    }
}
