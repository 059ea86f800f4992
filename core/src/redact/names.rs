//! Owns which names say that their value is nobody's business, and which texts look like credentials by themselves.
//! Both lean towards secrecy: a harmless value shown as stars costs a look into the file, a key in a log costs the key.

/// Parts of a name that are never about anything else.
const ANYWHERE: &[&str] = &[
    "token",
    "secret",
    "passw",
    "credential",
    "apikey",
    "bearer",
    "cookie",
    "private",
    "signature",
];
/// Words of a name.
const WORDS: &[&str] = &["pwd", "pass", "pat", "sig", "jwt", "dsn", "sid", "pin", "otp"];
/// Names about an amount of tokens.
const AMOUNTS: &[&str] = &["max", "min", "limit", "count", "num", "budget", "usage"];

/// How credentials of well-known issuers begin.
const BEGINNINGS: &[&str] = &[
    "sk-",
    "sk_",
    "pk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxs-",
    "xoxe-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "lin_api_",
    "ntn_",
    "secret_",
    "tvly-",
    "fc-",
    "pplx-",
    "gsk_",
    "r8_",
    "shpat_",
    "sbp_",
    "figd_",
    "PMAK-",
    "ATATT",
    "whsec_",
    "sntrys_",
    "dckr_pat_",
    "pat-",
    "SG.",
];
/// What a credential has behind such a beginning at least.
const REST: usize = 12;
/// From this length on a text without words in it is taken for a credential.
const LONG: usize = 20;

/// How a header says what kind of credential follows.
const SCHEMES: &[&str] =
    &["bearer", "basic", "token", "digest", "apikey", "api-key", "key", "negotiate"];

/// Whether a key's name says that its value is nobody's business.
pub(crate) fn is_secret_key(key: &str) -> bool {
    if key.len() < 3 {
        return false;
    }
    let words = words(key);
    let joined: String = words.concat();
    let is = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if joined.contains("tokens") && is(AMOUNTS) || joined.contains("tokenizer") {
        return false;
    }
    ANYWHERE.iter().any(|part| joined.contains(part))
        || is(WORDS)
        || words.iter().any(|word| is_key_or_auth(word))
}

fn is_key_or_auth(word: &str) -> bool {
    let author = word.starts_with("author") && !word.starts_with("authori");
    let about_keys = word.ends_with("key") || word.ends_with("keys");
    about_keys && !word.ends_with("monkey") || word.contains("auth") && !author
}

/// The words of `camelCase`, `snake_case`, `kebab-case` and their like, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        let starts = c.is_uppercase() && after_lower;
        if (starts || !c.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_numeric();
    }
    words
}

/// Whether a word tells what kind of credential follows it.
pub(super) fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Whether a text without blanks looks like a credential, whatever it is called.
pub(super) fn looks_secret(text: &str) -> bool {
    let known = |start: &&&str| {
        text.strip_prefix(**start).is_some_and(|rest| rest.len() >= REST && rest.is_ascii())
    };
    if BEGINNINGS.iter().find(known).is_some() {
        return true;
    }
    let is_web_token = text.starts_with("eyJ") && text.matches('.').count() >= 2;
    is_web_token || is_random(text)
}

/// Whether letters and digits change places too often for a text that somebody made up.
fn is_random(text: &str) -> bool {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Upper,
        Lower,
        Digit,
    }
    let mut length = 0;
    let mut changes = 0;
    let mut last = None;
    for c in text.chars() {
        let kind = match c {
            'A'..='Z' => Kind::Upper,
            'a'..='z' => Kind::Lower,
            '0'..='9' => Kind::Digit,
            // A new part of a made-up name.
            '-' | '_' | '+' | '=' | '~' | '.' => {
                last = None;
                continue;
            }
            _ => return false,
        };
        length += 1;
        let is_name = last == Some(Kind::Upper) && kind == Kind::Lower;
        changes += usize::from(last.is_some_and(|last| last != kind) && !is_name);
        last = Some(kind);
    }
    length >= LONG && changes >= (length / 4).max(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_every_spelling() {
        for key in [
            "token",
            "API_KEY",
            "apiKey",
            "exaApiKey",
            "x-api-key",
            "Authorization",
            "OAUTH_TOKEN",
            "key",
            "apikey",
            "client_secret",
            "DB_PASSWORD",
            "passwd",
            "pwd",
            "aws-access-key-id",
            "PRIVATE_KEY",
            "sig",
            "credentials",
            "GITHUB_PAT",
            "SSH_KEYS",
            "authToken",
            "X-Amz-Signature",
            "Cookie",
            "tokens",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
    }

    #[test]
    fn other_names_are_not() {
        for key in [
            "page",
            "monkey",
            "author",
            "keyboard",
            "design",
            "path",
            "max_tokens",
            "maxTokens",
            "tokenizer",
            "region",
            "signal",
            "",
            "--",
            "passenger",
            "profile",
            "keynote",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }

    #[test]
    fn credentials_are_known_by_their_looks() {
        for text in [
            "sk-proj-abcdefghijkl",
            "ghp_0123456789abcdef",
            "xoxb-1234-5678-abcdef",
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
            "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
            "9f86d081884c7d659a2feaa0c55ad015",
            "wJalrXUtnFEMI7K7MDENGbPxRfiCY9zAb3Q",
        ] {
            assert!(looks_secret(text), "{text}");
        }
        for text in [
            "@modelcontextprotocol/server-filesystem",
            "mcp-server-v2-node18-x64-linux",
            "sk-learn",
            "--verbose",
            "MyVeryLongCamelCaseServerName",
            "2025-06-18T10:00:00",
            "production",
            "index.js",
            "",
        ] {
            assert!(!looks_secret(text), "{text}");
        }
    }
}
