//! Owns hiding the values that a server was given in what the server says: its stderr, its errors, its log messages may
//! repeat them. What it answers to a call is its own word and left alone.
//! Invariant: what is hidden was handed to that server; short values, such as `1` or `true`, are not worth the confusion.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use bytes::Bytes;
use memchr::memmem;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use url::Url;

use super::STARS;
use super::find::{in_args, in_url};
use super::names::is_scheme;

/// The shortest value that is hidden.
const LEAST: usize = 6;

/// The values that one server was given; hides them in text. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Mask(Option<Arc<[String]>>);

/// Collects the values for a [`Mask`].
#[derive(Default)]
pub(crate) struct Given(Vec<String>);

impl Given {
    /// A value that is secret as a whole: a variable of the server's own.
    pub(crate) fn value(&mut self, value: &str) {
        self.add(value);
        // A key of many lines is repeated line by line.
        if value.contains('\n') {
            value.lines().for_each(|line| self.add(line.trim()));
        }
    }

    /// The value of a header.
    pub(crate) fn header(&mut self, value: &str) {
        self.value(value);
        let Some((scheme, credential)) = value.trim().split_once(char::is_whitespace) else {
            return;
        };
        if is_scheme(scheme) {
            let credential = credential.trim();
            self.value(credential);
            let login = STANDARD.decode(credential).or_else(|_| STANDARD_NO_PAD.decode(credential));
            if let Some(login) = login.ok().and_then(|login| String::from_utf8(login).ok()) {
                self.login(&login);
            }
        }
    }

    /// The arguments of a program, as it gets them.
    pub(crate) fn args(&mut self, args: &[String]) {
        let places = in_args(args.iter().map(String::as_str));
        for (arg, places) in args.iter().zip(places) {
            places.into_iter().for_each(|place| self.header(&arg[place]));
        }
    }

    /// A URL, as it is asked.
    pub(crate) fn url(&mut self, url: &Url) {
        for place in in_url(url.as_str()) {
            self.value(&url.as_str()[place]);
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        if !url.username().is_empty() || url.password().is_some() {
            let login =
                format!("{}:{}", decoded(url.username()), decoded(url.password().unwrap_or("")));
            self.login(&login);
            // So it is sent.
            self.add(&STANDARD.encode(&login));
        }
    }

    /// `name:password`.
    fn login(&mut self, login: &str) {
        self.value(login);
        if let Some((name, password)) = login.split_once(':') {
            self.value(if password.is_empty() { name } else { password });
        }
    }

    fn add(&mut self, value: &str) {
        if value.len() < LEAST {
            return;
        }
        self.0.push(value.to_owned());
        let decoded = percent_decode_str(value).decode_utf8_lossy();
        let encoded = utf8_percent_encode(&decoded, NON_ALPHANUMERIC).to_string();
        let form: String = url::form_urlencoded::byte_serialize(decoded.as_bytes()).collect();
        let quoted = Value::from(value).to_string();
        let escaped = quoted[1..quoted.len() - 1].to_owned();
        let others = [decoded.into_owned(), encoded, form, escaped];
        self.0.extend(others.into_iter().filter(|other| other != value && other.len() >= LEAST));
    }

    /// Everything collected, the longest first: one value may be a part of another.
    pub(crate) fn mask(mut self) -> Mask {
        self.0.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.0.dedup();
        Mask((!self.0.is_empty()).then(|| self.0.into()))
    }
}

impl<'a> Extend<&'a str> for Given {
    fn extend<T: IntoIterator<Item = &'a str>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.value(value));
    }
}

impl Mask {
    fn values(&self) -> &[String] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The text, with stars for every value.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        hidden(text, self.values().iter())
    }

    /// JSON as bytes, left as they are where there is nothing to hide. Values that are plain words stay: a schema is
    /// made of such.
    pub(crate) fn raw_json(&self, json: Bytes) -> Bytes {
        let is_word = |value: &&String| value.bytes().all(|byte| byte.is_ascii_alphabetic());
        let hide = |json| hidden(json, self.values().iter().filter(|value| !is_word(value)));
        match std::str::from_utf8(&json).map(hide) {
            Ok(Cow::Owned(shown)) => shown.into(),
            _ => json,
        }
    }

    /// The same for a text that may have been cut at either end, in the middle of a value.
    pub(crate) fn fragment(&self, text: &str) -> String {
        let mut shown = self.text(text).into_owned();
        let least = |value: &String| LEAST.min(value.len());
        for value in self.values() {
            let cuts = |from: usize, to: usize| (from..to).filter(|&at| value.is_char_boundary(at));
            let longest = value.len().min(shown.len() + 1);
            let ends = cuts(least(value), longest).rev().find(|&at| shown.ends_with(&value[..at]));
            if let Some(at) = ends {
                shown.truncate(shown.len() - at);
                shown.push_str(STARS);
            }
            let most = value.len() - least(value);
            let first = value.len().saturating_sub(shown.len()).max(1);
            let begins = cuts(first, most + 1).find(|&at| shown.starts_with(&value[at..]));
            if let Some(at) = begins {
                shown.replace_range(..value.len() - at, STARS);
            }
        }
        shown
    }

    /// JSON with stars for every value in its strings and keys.
    pub(crate) fn json(&self, value: Value) -> Value {
        match value {
            _ if self.0.is_none() => value,
            Value::String(text) => self.text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(key, value)| (self.text(&key).into_owned(), self.json(value)))
                    .collect(),
            ),
            Value::Number(number) => {
                let written = number.to_string();
                if self.values().contains(&written) { STARS.into() } else { Value::Number(number) }
            }
            plain => plain,
        }
    }
}

fn hidden<'a, 'v>(text: &'a str, values: impl Iterator<Item = &'v String>) -> Cow<'a, str> {
    let mut shown = Cow::Borrowed(text);
    for value in values {
        if memmem::find(shown.as_bytes(), value.as_bytes()).is_some() {
            shown = shown.replace(value.as_str(), STARS).into();
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(fill: impl FnOnce(&mut Given)) -> Mask {
        let mut given = Given::default();
        fill(&mut given);
        given.mask()
    }

    #[test]
    fn values_are_hidden_wherever_they_are_repeated() {
        let mask = of(|given| {
            given.value("hunter2/x y\"");
            given.header("Bearer correct-horse");
            given.header("Basic bWU6c3dvcmRmaXNo");
            given.value("1");
        });
        for (said, shown) in [
            ("it is hunter2/x y\", 1", "it is ***, 1"),
            ("hunter2%2Fx%20y%22 and hunter2%2Fx+y%22", "*** and ***"),
            (r#"{"a":"hunter2/x y\""}"#, r#"{"a":"***"}"#),
            ("Bearer correct-horse, correct-horse", "***, ***"),
            ("me:swordfish, swordfish", "***, ***"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(mask.text(said), shown);
        }
    }

    #[test]
    fn the_secrets_of_a_url_and_of_arguments_are_known() {
        let mask = of(|given| {
            given.url(
                &Url::parse("https://me%40x:hun%20ter@h/mcp?key=abcdef%21&page=second").unwrap(),
            );
            given.args(&["--token".into(), "swordfish".into(), "plain-word".into()]);
        });
        assert_eq!(
            mask.text("hun ter, hun%20ter, abcdef!, abcdef%21, second"),
            "***, ***, ***, ***, second"
        );
        assert_eq!(mask.text("bWVAeDpodW4gdGVy"), "***");
        assert_eq!(mask.text("swordfish plain-word"), "*** plain-word");
    }

    #[test]
    fn a_key_of_many_lines_is_hidden_line_by_line() {
        let mask =
            of(|given| given.value("-----BEGIN-----\nfirst line\nsecond line\n-----END-----"));
        assert_eq!(mask.text("second line"), "***");
    }

    #[test]
    fn a_value_that_was_cut_is_hidden_too() {
        let mask = of(|given| given.value("correct-horse"));
        assert_eq!(mask.fragment("it is correct-ho"), "it is ***");
        assert_eq!(mask.fragment("ect-horse it was"), "*** it was");
        assert_eq!(mask.fragment("nothing corr"), "nothing corr");
        assert_eq!(mask.fragment("correct-horse"), "***");
        assert_eq!(Mask::default().fragment("x"), "x");
    }

    #[test]
    fn json_is_hidden_in_depth() {
        let mask = of(|given| given.value("123456"));
        let said = json!({"a": [{"123456": "is 123456"}], "b": 123456, "c": 7, "d": null});
        assert_eq!(
            mask.json(said),
            json!({"a": [{"***": "is ***"}], "b": "***", "c": 7, "d": null})
        );
    }
}
