//! Owns fetching a whole list of a server, page by page.
//! Invariant: pages, entries and bytes are bounded, a repeated cursor ends it, and of a long answer only the used parts
//! are kept.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Session;
use super::message::read_object;
use super::text::TextReader;
use crate::config::Limits;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime;

const PAGE_LIMIT: usize = 100;
const ENTRY_LIMIT: usize = 10_000;

/// A kind of list that a server has.
pub(super) struct ListKind {
    pub(super) method: &'static str,
    /// The member of an answer that holds the entries.
    pub(super) member: &'static str,
    /// What the entries are.
    pub(super) entries: &'static str,
}

/// All pages of a list, each entry as the server wrote it.
pub(super) struct WholeList {
    pub(super) entries: Vec<Bytes>,
    /// How long the server considers it up to date.
    pub(super) ttl_ms: Option<u64>,
}

/// Fetches a whole list. Every request carries `meta`.
pub(super) async fn list_all(
    session: &Session,
    kind: &'static ListKind,
    meta: Option<&Map<String, Value>>,
) -> Result<WholeList> {
    let ListKind { method, entries: what, .. } = kind;
    let limits = session.limits;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    let mut ttl_ms: Option<u64> = None;
    let mut params = meta.map_or_else(|| json!({}), |meta| json!({"_meta": meta}));
    let mut seen = HashSet::new();
    for _ in 0..PAGE_LIMIT {
        let answer = session.request(method, &params).await?;
        let texts = session.text_reader();
        let page = runtime::read_off_worker(answer.len(), move || {
            read_page(answer, kind, &texts, &limits)
        });
        let page = page.await?;
        bytes += page.entries.iter().map(Bytes::len).sum::<usize>();
        entries.extend(page.entries);
        ttl_ms = [ttl_ms, page.ttl_ms].into_iter().flatten().min();
        if entries.len() > ENTRY_LIMIT {
            return Err(over_limit(&format!("more than {ENTRY_LIMIT} {what}")));
        }
        if bytes > limits.tool_list_bytes {
            let limit = limits.tool_list_bytes;
            return Err(over_limit(&format!("{what} whose definitions are over {limit} bytes"))
                .with_hint(
                    "raise \"toolListBytes\" in the server's \"limits\" if you want them all",
                ));
        }
        match page.next_cursor {
            None => return Ok(WholeList { entries, ttl_ms }),
            Some(cursor) if !seen.insert(cursor.clone()) => {
                return Err(unreadable(what, "repeats a cursor"));
            }
            Some(cursor) => params["cursor"] = cursor.into(),
        }
    }
    Err(over_limit(&format!("more than {PAGE_LIMIT} pages of {what}")))
}

struct Page {
    entries: Vec<Bytes>,
    next_cursor: Option<String>,
    ttl_ms: Option<u64>,
}

fn read_page(answer: Bytes, kind: &ListKind, texts: &TextReader, limits: &Limits) -> Result<Page> {
    let what = kind.entries;
    let unreadable_page = |why: &str| {
        let why = texts.plain(why);
        unreadable(what, &format!("cannot be read: {why}")).quoting(&why)
    };
    let page =
        read_object(&answer, PageMembers(kind.member)).map_err(|why| unreadable_page(&why))?;
    let next_cursor = match page.next_cursor.map(RawValue::get) {
        // The cursor is sent back unchanged, so it cannot be cut.
        Some(cursor) if cursor.len() > limits.text_bytes => {
            let limit = limits.text_bytes;
            return Err(over_limit(&format!("{what} with a cursor of over {limit} bytes")));
        }
        Some(cursor) => Some(
            serde_json::from_str::<String>(cursor)
                .map_err(|_| unreadable_page("its cursor is not a string"))?,
        ),
        None => None,
    };
    let entries = page.entries;
    // A slice keeps the whole answer alive, so small parts are copied.
    let used: usize = entries.iter().map(|entry| entry.get().len()).sum();
    let copies = used < answer.len() / 2;
    let entries = entries.iter().map(|entry| match entry.get().as_bytes() {
        entry if copies => Bytes::copy_from_slice(entry),
        entry => answer.slice_ref(entry),
    });
    let ttl_ms = page.ttl_ms.and_then(|json| json.get().parse().ok());
    Ok(Page { entries: entries.collect(), next_cursor, ttl_ms })
}

/// Reads the members of a page that are used; the text is the name of the one with the entries.
struct PageMembers(&'static str);

struct RawPage<'a> {
    entries: Vec<&'a RawValue>,
    next_cursor: Option<&'a RawValue>,
    ttl_ms: Option<&'a RawValue>,
}

impl<'de> DeserializeSeed<'de> for PageMembers {
    type Value = RawPage<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PageMembers {
    type Value = RawPage<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a page of a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut entries, mut next_cursor, mut ttl_ms) = (None, None, None);
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            match &*name {
                name if name == self.0 => entries = Some(members.next_value::<Entries<'de>>()?.0),
                "nextCursor" => next_cursor = members.next_value::<Option<&'de RawValue>>()?,
                "ttlMs" => ttl_ms = members.next_value::<Option<&'de RawValue>>()?,
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        let entries = entries.ok_or_else(|| serde::de::Error::missing_field(self.0))?;
        Ok(RawPage { entries, next_cursor, ttl_ms })
    }
}

/// The entries of one page; one more than the limit if there are too many.
struct Entries<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            // The value may be long, and the usual error would repeat it.
            fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Self::Value, E> {
                Err(E::custom("it is a string in place of a list"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while list.len() <= ENTRY_LIMIT {
                    match items.next_element()? {
                        Some(item) => list.push(item),
                        None => return Ok(list),
                    }
                }
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(list)
            }
        }
        deserializer.deserialize_seq(List).map(Entries)
    }
}

/// The same server would give the same answer again.
fn unreadable(entries: &str, why: &str) -> Error {
    Error::new(ErrorKind::ProtocolError, format!("The server's list of {entries} {why}"))
        .incurable()
}

fn over_limit(what: &str) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("The server lists {what}")).incurable()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Mask;

    const TOOLS: ListKind = ListKind { method: "tools/list", member: "tools", entries: "tools" };

    fn texts(limit: usize) -> TextReader {
        TextReader::new(Mask::default(), limit)
    }

    fn page(json: String) -> Result<Page> {
        let limits = Limits { text_bytes: 100, ..Limits::default() };
        read_page(json.into(), &TOOLS, &texts(limits.text_bytes), &limits)
    }

    #[test]
    fn a_small_tool_does_not_keep_a_large_page_alive() {
        let tool = r#"{"name":"t"}"#;
        let apart = |json: String| {
            let answer = Bytes::from(json);
            let range = answer.as_ptr_range();
            let page = read_page(answer.clone(), &TOOLS, &texts(100), &Limits::default()).unwrap();
            assert_eq!(page.entries, [tool]);
            !range.contains(&page.entries[0].as_ptr())
        };
        assert!(apart(format!(r#"{{"tools":[{tool}],"more":"{}"}}"#, "x".repeat(1000))));
        assert!(!apart(format!(r#"{{"tools":[{tool}]}}"#)));
    }

    #[test]
    fn the_error_of_an_invalid_page_is_short() {
        let long = "x".repeat(10_000);
        for (json, kind) in [
            (format!(r#"{{"tools":"{long}"}}"#), ErrorKind::ProtocolError),
            (format!("\"{long}\""), ErrorKind::ProtocolError),
            (r#"{"tools":[],"nextCursor":7}"#.to_owned(), ErrorKind::ProtocolError),
            (format!(r#"{{"tools":[],"nextCursor":"{long}"}}"#), ErrorKind::LimitExceeded),
        ] {
            let error = page(json).err().unwrap();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().len() < 300, "{error}");
        }
        let many = format!(r#"{{"tools":[{}0]}}"#, "0,".repeat(1_000_000));
        assert_eq!(page(many).unwrap().entries.len(), ENTRY_LIMIT + 1);
    }
}
