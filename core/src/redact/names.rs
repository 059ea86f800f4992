//! Owns which names mark a secret value, and which texts look like credentials. Both prefer secrecy: stars for a
//! harmless value cost a look into the file, a key in a log costs the key.

/// Substrings that only occur in secret names.
const SECRET_SUBSTRINGS: &[&str] = &[
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
/// Whole words that mark a secret name.
const SECRET_WORDS: &[&str] = &["pwd", "pass", "pat", "sig", "jwt", "dsn", "sid", "pin", "otp"];
/// Words of names about a number of tokens.
const AMOUNT_WORDS: &[&str] = &["max", "min", "limit", "count", "num", "budget", "usage"];

/// Prefixes of well-known credentials.
const CREDENTIAL_PREFIXES: &[&str] = &[
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
/// The minimum length of a credential after its prefix.
const MIN_REST: usize = 12;
/// From this length on, a text without words is taken for a credential.
const MIN_RANDOM_LENGTH: usize = 20;

/// Authentication schemes in headers.
const SCHEMES: &[&str] =
    &["bearer", "basic", "token", "digest", "apikey", "api-key", "key", "negotiate"];

/// Whether a key's name marks its value as secret.
pub(crate) fn is_secret_key(key: &str) -> bool {
    if key.len() < 3 {
        return false;
    }
    let words = words(key);
    let joined: String = words.concat();
    let is = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if joined.contains("tokens") && is(AMOUNT_WORDS) || joined.contains("tokenizer") {
        return false;
    }
    SECRET_SUBSTRINGS.iter().any(|part| joined.contains(part))
        || is(SECRET_WORDS)
        || words.iter().any(|word| is_key_or_auth(word))
}

fn is_key_or_auth(word: &str) -> bool {
    let author = word.starts_with("author") && !word.starts_with("authori");
    let about_keys = word.ends_with("key") || word.ends_with("keys");
    about_keys && !word.ends_with("monkey") || word.contains("auth") && !author
}

/// The lower-case words of `camelCase`, `snake_case`, `kebab-case` and the like.
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

/// Whether a header says who sends it.
pub(crate) fn is_credential(name: &str, value: &str) -> bool {
    let scheme = value.trim().split_once(char::is_whitespace).map(|(scheme, _)| scheme);
    is_secret_key(name) || scheme.is_some_and(is_scheme)
}

/// Whether a word is an authentication scheme.
pub(super) fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Whether a text without blanks looks like a credential, whatever its name.
pub(super) fn looks_secret(text: &str) -> bool {
    let known = |start: &&&str| {
        text.strip_prefix(**start).is_some_and(|rest| rest.len() >= MIN_REST && rest.is_ascii())
    };
    if CREDENTIAL_PREFIXES.iter().find(known).is_some() {
        return true;
    }
    let is_web_token = text.starts_with("eyJ") && text.matches('.').count() >= 2;
    is_web_token || is_random(text)
}

/// Whether letters and digits alternate too often for a text that a person wrote.
fn is_random(text: &str) -> bool {
    #[derive(PartialEq, Clone, Copy)]
    enum CharClass {
        Upper,
        Lower,
        Digit,
    }
    let mut length = 0;
    let mut changes = 0;
    let mut last = None;
    for c in text.chars() {
        let kind = match c {
            'A'..='Z' => CharClass::Upper,
            'a'..='z' => CharClass::Lower,
            '0'..='9' => CharClass::Digit,
            // These characters separate the parts of a written name.
            '-' | '_' | '+' | '=' | '~' | '.' => {
                last = None;
                continue;
            }
            _ => return false,
        };
        length += 1;
        let is_name = last == Some(CharClass::Upper) && kind == CharClass::Lower;
        changes += usize::from(last.is_some_and(|last| last != kind) && !is_name);
        last = Some(kind);
    }
    length >= MIN_RANDOM_LENGTH && changes >= (length / 4).max(5)
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
