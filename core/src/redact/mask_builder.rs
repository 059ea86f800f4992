//! Owns which of the values that a server was given are hidden in what it says. Where a value stands decides:
//!
//! | value | hidden |
//! |---|---|
//! | named like a secret, of a command or a file, of a login, by its looks | always, from 6 characters; from 4 as a word |
//! | of another variable or header | from 6 characters; a single word not in what the server offers to agents |
//! | of these: numbers, addresses of machines, paths, words that settings are made of | never: they tell nothing |

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use percent_encoding::percent_decode_str;
use url::Url;

use super::find::{in_args, in_text, in_url};
use super::forms::{self, Form, LEAST, LEAST_WORD, Weight};
use super::mask::Mask;
use super::names::{is_scheme, is_secret_key};
use super::needles::Needles;

/// Of a value of many lines so many are hidden one by one.
const LINES: usize = 1000;
/// A longer value is not looked through.
const LOOKED_THROUGH: usize = 64 << 10;
/// The longest number that is no secret.
const NUMBER: usize = 9;
/// The longest word that somebody may have chosen from a list.
const WORD: usize = 16;

/// What is no secret whatever it is called.
const SWITCHES: &[&str] = &["true", "false", "none", "null", "auto"];
/// What settings are made of.
const SETTINGS: &[&str] = &[
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

/// Collects the values for a [`Mask`].
#[derive(Default)]
pub(crate) struct Given(Vec<Form>);

impl Given {
    /// A value that is secret, whatever it looks like.
    pub(crate) fn value(&mut self, value: &str) {
        let value = value.trim();
        if value.len() < LEAST_WORD || SWITCHES.contains(&value.to_ascii_lowercase().as_str()) {
            return;
        }
        self.add(value, Weight::Secret);
        self.credential(value);
        self.inside(value);
    }

    /// A variable of the server's own.
    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        if is_secret_key(name) {
            return self.value(value);
        }
        let value = value.trim();
        self.inside(value);
        self.credential(value);
        if value.len() >= LEAST && !is_plain(value) {
            self.add(value, if is_word(value) { Weight::Word } else { Weight::Secret });
        }
    }

    /// What a child inherits of our environment; most of it tells nothing and is the same for all.
    pub(crate) fn inherited(&mut self, env: &[(OsString, OsString)]) {
        let entries =
            env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        entries.filter(|(name, _)| is_secret_key(name)).for_each(|(_, value)| self.value(value));
    }

    /// A header.
    pub(crate) fn header(&mut self, name: &str, value: &str) {
        self.variable(name, value);
    }

    /// The arguments of a program, as it gets them.
    pub(crate) fn args(&mut self, args: &[String]) {
        let places = in_args(args.iter().map(String::as_str));
        for (arg, places) in args.iter().zip(places) {
            places.into_iter().for_each(|place| self.value(&arg[place]));
        }
    }

    /// A URL, as it is asked.
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

    /// What follows the word that says what kind of credential it is.
    fn credential(&mut self, value: &str) {
        let Some((scheme, credential)) = value.split_once(char::is_whitespace) else { return };
        if !is_scheme(scheme) || credential.trim().len() < LEAST_WORD {
            return;
        }
        let credential = credential.trim();
        self.add(credential, Weight::Secret);
        let login = STANDARD.decode(credential).or_else(|_| STANDARD_NO_PAD.decode(credential));
        if let Some(login) = login.ok().and_then(|login| String::from_utf8(login).ok()) {
            self.login(&login);
        }
    }

    /// `name:password`.
    fn login(&mut self, login: &str) {
        self.value(login);
        if let Some((name, password)) = login.split_once(':') {
            self.value(if password.is_empty() { name } else { password });
        }
    }

    /// The secrets in a text that is more than one.
    fn inside(&mut self, value: &str) {
        if value.len() > LOOKED_THROUGH {
            return;
        }
        for place in in_text(value) {
            let secret = &value[place];
            if secret.len() >= LEAST_WORD && secret.len() < value.len() {
                self.add(secret, Weight::Secret);
                self.credential(secret);
                if let Some((_, password)) = secret.split_once(':') {
                    self.add(password, Weight::Secret);
                }
            }
        }
    }

    fn add(&mut self, value: &str, weight: Weight) {
        forms::add(value, weight, &mut self.0);
        // A key of many lines is repeated line by line.
        if value.contains('\n') {
            let lines = value.lines().filter(|line| line.trim().len() >= LEAST);
            lines.take(LINES).for_each(|line| forms::add(line, weight, &mut self.0));
        }
    }

    pub(crate) fn mask(self) -> Mask {
        Mask::new(Needles::new(self.0))
    }
}

impl<'a> Extend<&'a str> for Given {
    fn extend<T: IntoIterator<Item = &'a str>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.value(value));
    }
}

/// Whether a value tells nothing.
fn is_plain(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let host = value.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let host = host.map_or(value, |(host, _)| host);
    SETTINGS.contains(&lower.as_str())
        || value.len() <= NUMBER && value.parse::<f64>().is_ok()
        || value.parse::<IpAddr>().is_ok()
        || value.parse::<SocketAddr>().is_ok()
        || host == "localhost"
        || ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start))
            && in_text(value).is_empty()
}

/// Whether a value may be a word of somebody's language.
fn is_word(value: &str) -> bool {
    let rest = value.get(1..).unwrap_or_default();
    let all = |text: &str, is: fn(&u8) -> bool| text.bytes().all(|byte| is(&byte));
    let letters = value.len() <= WORD && all(value, u8::is_ascii_alphabetic);
    letters && (all(rest, u8::is_ascii_lowercase) || all(value, u8::is_ascii_uppercase))
}
