//! Owns the login of a connection's identity, and which values of callers' headers the masks of a server hide.
//! Invariant: a value is hidden from the moment it is sent: while a call or a connection uses it, and until many others
//! have been sent since.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;

use super::{CallerHeaders, HeaderSet};
use crate::redact::{Mask, MoreValues};
use crate::sync::lock;

/// How many sets of headers are hidden after their last use: those that say who calls, and others.
const HIDDEN_LOGINS: usize = 256;
const HIDDEN_OTHERS: usize = 32;

/// The headers of one connection to one address. They outlive its sessions, and end with its definition.
#[derive(Default)]
pub(crate) struct ConnectionHeaders {
    current: ArcSwapOption<KeptHeaders>,
    /// Shared by the connections of a server: it may repeat to one caller what another one has sent.
    hidden: Arc<HiddenHeaders>,
}

/// Sent with every request. The headers of a call replace those of the same name.
struct KeptHeaders {
    headers: CallerHeaders,
    /// The part that says who calls.
    login: Option<CallerHeaders>,
    _in_use: HeadersInUse,
}

/// The headers whose values are hidden.
#[derive(Default)]
struct HiddenHeaders(Mutex<Option<Box<HiddenSets>>>);

/// Allocated by the first headers: most servers have none.
#[derive(Default)]
struct HiddenSets {
    logins: HiddenList,
    others: HiddenList,
    /// The mask of the definition's values, and that mask with these headers.
    last: Option<(Mask, Mask)>,
}

/// The latest is the last.
#[derive(Default)]
struct HiddenList(VecDeque<Arc<HeaderSet>>);

impl HiddenList {
    /// Adds a set, or moves it to the end; returns it, and whether the list has changed. Of those that nobody uses, the
    /// oldest above the limit are dropped.
    fn add(&mut self, headers: &CallerHeaders, limit: usize) -> (HeadersInUse, bool) {
        let known = self.0.iter().position(|set| **set == *headers.0);
        let known = known.and_then(|at| self.0.remove(at));
        let is_new = known.is_none();
        let set = known.unwrap_or_else(|| headers.0.clone());
        let in_use = HeadersInUse::new(&set);
        self.0.push_back(set);
        let mut excess = self.0.len().saturating_sub(limit);
        self.0.retain(|set| {
            let is_dropped = excess > 0 && set.users.load(Ordering::Relaxed) == 0;
            excess -= usize::from(is_dropped);
            !is_dropped
        });
        (in_use, is_new)
    }

    fn sets(&self) -> impl Iterator<Item = Arc<dyn MoreValues>> {
        self.0.iter().cloned().map(|set| set as Arc<dyn MoreValues>)
    }
}

/// Headers that a call or a connection sends: they stay hidden at least as long as this is kept.
pub(crate) struct HeadersInUse(Arc<HeaderSet>);

impl HeadersInUse {
    fn new(set: &Arc<HeaderSet>) -> Self {
        set.users.fetch_add(1, Ordering::Relaxed);
        HeadersInUse(set.clone())
    }
}

impl Drop for HeadersInUse {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConnectionHeaders {
    /// For another address, or another identity, of the same server.
    pub(crate) fn beside(other: &ConnectionHeaders) -> ConnectionHeaders {
        ConnectionHeaders { current: ArcSwapOption::empty(), hidden: other.hidden.clone() }
    }

    /// Sends these headers with every request from now on. A login replaces the one before as a whole.
    pub(crate) fn keep(&self, headers: &CallerHeaders) {
        let before = self.current.load();
        if before.as_ref().is_some_and(|before| before.login.as_ref() == Some(headers)) {
            return;
        }
        let login = headers.login();
        let headers = match (before.as_ref().map(|before| &before.headers), &login) {
            (Some(before), Some(_)) => headers.over(&before.without_login()),
            (Some(before), None) => headers.over(before),
            (None, _) => headers.clone(),
        };
        if before.as_ref().is_some_and(|before| before.headers == headers) {
            return;
        }
        let (login, _in_use) = (headers.login(), self.hide(&headers));
        self.current.store(Some(Arc::new(KeptHeaders { headers, login, _in_use })));
    }

    /// The headers that are sent with every request.
    pub(crate) fn current(&self) -> Option<CallerHeaders> {
        self.current.load().as_ref().map(|current| current.headers.clone())
    }

    /// Those of them that say who calls.
    pub(crate) fn login(&self) -> Option<CallerHeaders> {
        self.current.load().as_ref().and_then(|current| current.login.clone())
    }

    /// Hides these values from now on.
    pub(crate) fn hide(&self, headers: &CallerHeaders) -> HeadersInUse {
        let mut hidden = lock(&self.hidden.0);
        let hidden = hidden.get_or_insert_default();
        let (in_use, is_new) = match headers.credential() {
            Some(_) => hidden.logins.add(headers, HIDDEN_LOGINS),
            None => hidden.others.add(headers, HIDDEN_OTHERS),
        };
        if is_new {
            hidden.last = None;
        }
        in_use
    }

    /// The mask of a definition's values, which hides the headers too.
    pub(crate) fn mask(&self, definition: &Mask) -> Mask {
        let mut hidden = lock(&self.hidden.0);
        let Some(hidden) = &mut *hidden else { return definition.clone() };
        if let Some((of, mask)) = &hidden.last
            && of.is_same(definition)
        {
            return mask.clone();
        }
        let sets = hidden.logins.sets().chain(hidden.others.sets()).collect();
        let mask = definition.with_more(sets);
        hidden.last = Some((definition.clone(), mask.clone()));
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::MaskBuilder;

    fn headers(value: &str) -> CallerHeaders {
        CallerHeaders::new([("X-Api-Key", value)]).unwrap()
    }

    fn shown(connection: &ConnectionHeaders, text: &str) -> String {
        connection.mask(&Mask::default()).text(text).into_owned()
    }

    #[test]
    fn values_of_callers_and_of_the_definition_are_hidden() {
        let mut definition = MaskBuilder::default();
        definition.header("Authorization", "Bearer definition-t0ken");
        let definition = definition.build();
        let connection = ConnectionHeaders::default();
        assert!(connection.mask(&definition).is_same(&definition));
        connection.keep(&headers("first-s3cret"));
        drop(connection.hide(&headers("second-s3cret")));
        let said = "definition-t0ken first-s3cret second-s3cret third-s3cret";
        assert_eq!(connection.mask(&definition).text(said), "*** *** *** third-s3cret");
        drop(connection.hide(&headers("third-s3cret")));
        assert_eq!(connection.mask(&definition).text(said), "*** *** *** ***");
    }

    #[test]
    fn the_same_headers_change_nothing() {
        let connection = ConnectionHeaders::default();
        connection.keep(&headers("first-s3cret"));
        let mask = connection.mask(&Mask::default());
        connection.keep(&headers("first-s3cret"));
        assert!(connection.mask(&Mask::default()).is_same(&mask));
    }

    #[test]
    fn a_new_login_replaces_the_old_one_and_leaves_other_headers() {
        let of = |entries: &[(&str, &str)]| CallerHeaders::new(entries.iter().copied()).unwrap();
        let connection = ConnectionHeaders::default();
        connection.keep(&of(&[("X-Team", "red"), ("X-Api-Key", "old"), ("Cookie", "old")]));
        connection.keep(&headers("new"));
        let kept = of(&[("X-Team", "red"), ("X-Api-Key", "new")]);
        assert_eq!((connection.current(), connection.login()), (Some(kept), Some(headers("new"))));
        connection.keep(&of(&[("X-Team", "blue")]));
        let kept = of(&[("X-Team", "blue"), ("X-Api-Key", "new")]);
        assert_eq!((connection.current(), connection.login()), (Some(kept), Some(headers("new"))));
    }

    #[test]
    fn what_is_in_use_stays_hidden_however_many_others_come() {
        let connection = ConnectionHeaders::default();
        let in_use = connection.hide(&headers("s3cret-in-use"));
        connection.keep(&headers("s3cret-login"));
        drop(connection.hide(&headers("s3cret-of-before")));
        for number in 0..3 * HIDDEN_LOGINS {
            drop(connection.hide(&headers(&format!("s3cret-number-{number:04}"))));
        }
        let said = "s3cret-in-use s3cret-login s3cret-of-before";
        assert_eq!(shown(&connection, said), "*** *** s3cret-of-before");
        let kept = lock(&connection.hidden.0).as_ref().unwrap().logins.0.len();
        assert_eq!(kept, HIDDEN_LOGINS);
        drop(in_use);
        for number in 0..HIDDEN_LOGINS {
            drop(connection.hide(&headers(&format!("s3cret-other-{number:04}"))));
        }
        assert_eq!(shown(&connection, "s3cret-in-use s3cret-login"), "s3cret-in-use ***");
    }

    #[test]
    fn many_headers_that_say_nothing_push_no_login_out() {
        let connection = ConnectionHeaders::default();
        drop(connection.hide(&headers("s3cret-login")));
        for number in 0..3 * HIDDEN_LOGINS {
            let id = format!("request-{number}");
            drop(connection.hide(&CallerHeaders::new([("X-Request", id)]).unwrap()));
        }
        assert_eq!(shown(&connection, "s3cret-login"), "***");
    }

    #[test]
    fn a_server_that_repeats_the_value_of_another_caller_is_quoted_without_it() {
        let connection = ConnectionHeaders::default();
        let other = ConnectionHeaders::beside(&connection);
        connection.keep(&headers("first-s3cret"));
        assert_eq!(shown(&other, "first-s3cret"), "***");
        assert_eq!(other.current(), None);
    }
}
