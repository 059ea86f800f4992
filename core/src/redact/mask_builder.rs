//! Owns which of a server's values its mask hides. It depends on where the value was configured:
//!
//! | value | hidden |
//! |---|---|
//! | under a secret name, from a command or a file, of a login, by its looks | always, from 6 characters; from 4 as a word |
//! | of another variable or header | from 6 characters; a single word not in what the server offers to agents |
//! | of these: numbers, host addresses, paths, common setting words | never |

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use percent_encoding::percent_decode_str;
use url::Url;

use super::find::{in_args, in_text, in_url};
use super::forms::{self, Certainty, Form, MIN_LENGTH, MIN_WORD_LENGTH};
use super::mask::Mask;
use super::names::{is_scheme, is_secret_key};
use super::needles::Needles;

/// The most lines of a multi-line value that are hidden one by one.
const MAX_LINES: usize = 1000;
/// A longer value is not searched for secrets inside it.
const MAX_SEARCHED: usize = 64 << 10;
/// The longest number that is not taken for a secret.
const MAX_NUMBER: usize = 9;
/// The longest value that may be an ordinary word.
const MAX_WORD: usize = 16;

/// Values that are never secret, whatever their name.
const NEVER_SECRET: &[&str] = &["true", "false", "none", "null", "auto"];
/// Common words in settings.
const SETTING_WORDS: &[&str] = &[
    "always",
    "critical",
    "default",
    "development",
    "disable",
    "disabled",
    "enable",
    "enabled",
    "localhost",
    "notice",
    "production",
    "readonly",
    "silent",
    "staging",
    "testing",
    "verbose",
    "warning",
];

/// Collects a server's values and builds its [`Mask`].
#[derive(Default)]
pub(crate) struct MaskBuilder(Vec<Form>);

impl MaskBuilder {
    /// Adds a secret value, whatever it looks like.
    pub(crate) fn value(&mut self, value: &str) {
        let value = value.trim();
        if value.len() < MIN_WORD_LENGTH
            || NEVER_SECRET.contains(&value.to_ascii_lowercase().as_str())
        {
            return;
        }
        self.add(value, Certainty::Secret);
        self.credential(value);
        self.add_secrets_in(value);
    }

    /// Adds one of the server's own variables.
    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        if is_secret_key(name) {
            return self.value(value);
        }
        let value = value.trim();
        self.add_secrets_in(value);
        self.credential(value);
        if value.len() >= MIN_LENGTH && !is_common(value) {
            self.add(value, if is_word(value) { Certainty::Word } else { Certainty::Secret });
        }
    }

    /// Adds the inherited environment. Most of it is not secret and is the same for all servers.
    pub(crate) fn inherited(&mut self, env: &[(OsString, OsString)]) {
        let entries =
            env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        entries.filter(|(name, _)| is_secret_key(name)).for_each(|(_, value)| self.value(value));
    }

    /// Adds a header.
    pub(crate) fn header(&mut self, name: &str, value: &str) {
        self.variable(name, value);
    }

    /// Adds a program's expanded arguments.
    pub(crate) fn args(&mut self, args: &[String]) {
        let places = in_args(args.iter().map(String::as_str));
        for (arg, places) in args.iter().zip(places) {
            places.into_iter().for_each(|place| self.value(&arg[place]));
        }
    }

    /// Adds an expanded URL.
    pub(crate) fn url(&mut self, url: &Url) {
        for place in in_url(url.as_str()) {
            self.value(&url.as_str()[place]);
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        if !url.username().is_empty() || url.password().is_some() {
            let password = url.password().unwrap_or("");
            self.login(&format!("{}:{}", decoded(url.username()), decoded(password)));
        }
    }

    /// Adds the credential after its scheme (`Bearer …`).
    fn credential(&mut self, value: &str) {
        let Some((scheme, credential)) = value.split_once(char::is_whitespace) else { return };
        if !is_scheme(scheme) || credential.trim().len() < MIN_WORD_LENGTH {
            return;
        }
        let credential = credential.trim();
        self.add(credential, Certainty::Secret);
        let login = STANDARD.decode(credential).or_else(|_| STANDARD_NO_PAD.decode(credential));
        if let Some(login) = login.ok().and_then(|login| String::from_utf8(login).ok()) {
            self.login(&login);
        }
    }

    /// Adds a `name:password` pair.
    fn login(&mut self, login: &str) {
        self.value(login);
        if let Some((name, password)) = login.split_once(':') {
            self.value(if password.is_empty() { name } else { password });
        }
    }

    /// Adds the secrets inside a longer text.
    fn add_secrets_in(&mut self, value: &str) {
        if value.len() > MAX_SEARCHED {
            return;
        }
        for place in in_text(value) {
            let secret = &value[place];
            if secret.len() >= MIN_WORD_LENGTH && secret.len() < value.len() {
                self.add(secret, Certainty::Secret);
                self.credential(secret);
                if let Some((_, password)) = secret.split_once(':') {
                    self.add(password, Certainty::Secret);
                }
            }
        }
    }

    fn add(&mut self, value: &str, certainty: Certainty) {
        forms::add(value, certainty, &mut self.0);
        // A server may print a multi-line key line by line.
        if value.contains('\n') {
            let lines = value.lines().filter(|line| line.trim().len() >= MIN_LENGTH);
            lines.take(MAX_LINES).for_each(|line| forms::add(line, certainty, &mut self.0));
        }
    }

    pub(crate) fn build(self) -> Mask {
        Mask::new(Needles::new(self.0))
    }
}

impl<'a> Extend<&'a str> for MaskBuilder {
    fn extend<T: IntoIterator<Item = &'a str>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.value(value));
    }
}

/// Whether a value is too common to be secret.
fn is_common(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let host = value.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let host = host.map_or(value, |(host, _)| host);
    SETTING_WORDS.contains(&lower.as_str())
        || value.len() <= MAX_NUMBER && value.parse::<f64>().is_ok()
        || value.parse::<IpAddr>().is_ok()
        || value.parse::<SocketAddr>().is_ok()
        || host == "localhost"
        || ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start))
            && in_text(value).is_empty()
}

/// Whether a value may be an ordinary word.
fn is_word(value: &str) -> bool {
    let rest = value.get(1..).unwrap_or_default();
    let all = |text: &str, is: fn(&u8) -> bool| text.bytes().all(|byte| is(&byte));
    let letters = value.len() <= MAX_WORD && all(value, u8::is_ascii_alphabetic);
    letters && (all(rest, u8::is_ascii_lowercase) || all(value, u8::is_ascii_uppercase))
}
