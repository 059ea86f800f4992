//! Owns a server's tools as one list: read from `tools/list`, looked up by raw name.
//! Invariant: one bad tool never affects the others.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use bytes::Bytes;

use super::ServerTool;
use crate::config::Limits;
use crate::redact::Mask;

/// How many bad tools are named.
const NAMED: usize = 20;
const SHOWN_NAME: usize = 80;

/// A server's tools, in its own order and by raw name.
#[derive(Clone, Default)]
pub(crate) struct Tools {
    pub(crate) list: Arc<Vec<Arc<ServerTool>>>,
    /// The hash of each raw name and the tool's position in the list, sorted: compact, because every connection has
    /// one.
    by_name: Arc<[(u32, u32)]>,
}

impl Tools {
    pub(crate) fn new(list: Vec<Arc<ServerTool>>) -> Self {
        let hashes = list.iter().map(|tool| hash(tool.raw_name()));
        let mut by_name: Vec<(u32, u32)> = hashes.zip(0..).collect();
        by_name.sort_unstable();
        Tools { list: Arc::new(list), by_name: by_name.into() }
    }

    /// All usable tools of a list, and a warning about each unusable one. Of tools with the same name the first is
    /// used. The server's secrets are masked everywhere except in the name that calls are sent with.
    pub(crate) fn read(server: &Arc<str>, listed: Vec<Bytes>, mask: &Mask) -> (Self, Vec<String>) {
        let unlimited =
            Limits { text_bytes: usize::MAX, tool_bytes: usize::MAX, ..Limits::default() };
        Self::read_within(server, listed, mask, &unlimited, |_| None)
    }

    /// Same, for a list that a server has just sent: tools over the limits are left out, and those with a problem.
    pub(crate) fn read_within(
        server: &Arc<str>,
        listed: Vec<Bytes>,
        mask: &Mask,
        limits: &Limits,
        problem_of: impl Fn(&ServerTool) -> Option<&'static str>,
    ) -> (Self, Vec<String>) {
        let mut tools: Vec<Arc<ServerTool>> = Vec::with_capacity(listed.len());
        let mut names = HashSet::with_capacity(listed.len());
        let (mut warnings, mut unnamed) = (Vec::new(), 0);
        for (at, json) in listed.into_iter().enumerate() {
            let read = match too_long(server, &json, limits) {
                Some((name, problem)) => Err((Some(name), problem)),
                None => ServerTool::read_masked(server, json, mask)
                    .and_then(|tool| match problem_of(&tool) {
                        Some(problem) => Err((Some(tool.raw_name().to_owned()), problem)),
                        None => Ok(tool),
                    })
                    .map_err(|(name, problem)| (name, problem.to_owned())),
            };
            let problem = match read {
                Ok(tool) if names.insert(tool.raw_name().to_owned()) => {
                    tools.push(Arc::new(tool));
                    continue;
                }
                Ok(tool) => {
                    let name = quoted(tool.raw_name());
                    format!("tool {name} is listed more than once; the first is used")
                }
                Err((Some(name), problem)) => {
                    format!("tool {} is left out: {problem}", quoted(&name))
                }
                Err((None, problem)) => format!("tool number {} is left out: {problem}", at + 1),
            };
            if warnings.len() < NAMED {
                warnings.push(format!("Server \"{server}\": {}", mask.text(&problem)));
            } else {
                unnamed += 1;
            }
        }
        if unnamed > 0 {
            warnings.push(format!("Server \"{server}\": {unnamed} more tools are left out"));
        }
        (Tools::new(tools), warnings)
    }

    pub(crate) fn get(&self, raw_name: &str) -> Option<&Arc<ServerTool>> {
        let wanted = hash(raw_name);
        let from = self.by_name.partition_point(|&(hash, _)| hash < wanted);
        let alike = self.by_name[from..].iter().take_while(|(hash, _)| *hash == wanted);
        alike.map(|&(_, at)| &self.list[at as usize]).find(|tool| tool.raw_name() == raw_name)
    }

    /// Whether it is the same list, by identity.
    pub(crate) fn is_same(&self, other: &Tools) -> bool {
        Arc::ptr_eq(&self.list, &other.list) || (self.list.is_empty() && other.list.is_empty())
    }
}

/// The name of a tool that exceeds a limit, and the limit.
fn too_long(server: &Arc<str>, json: &Bytes, limits: &Limits) -> Option<(String, String)> {
    if json.len() <= limits.tool_bytes.min(limits.text_bytes) {
        return None;
    }
    // An unreadable tool is reported as that.
    let tool = ServerTool::read(server, json.clone()).ok()?;
    let over = |what: &str, limit: usize| {
        Some((tool.raw_name().to_owned(), format!("its {what} is over {limit} bytes")))
    };
    if json.len() > limits.tool_bytes {
        return over("definition", limits.tool_bytes);
    }
    if tool.name_json().len() > limits.text_bytes {
        return over("name", limits.text_bytes);
    }
    None
}

fn hash(raw_name: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write(raw_name.as_bytes());
    hasher.finish() as u32
}

/// A quoted name, short and printable enough for one line.
pub(crate) fn quoted(name: &str) -> String {
    let mut text: String = name.chars().take(SHOWN_NAME).flat_map(escaped).collect();
    if name.chars().nth(SHOWN_NAME).is_some() {
        text.push('…');
    }
    format!("\"{text}\"")
}

/// Control characters, and those that reorder or hide the text around them, as `\u{…}`.
pub(super) fn escaped(c: char) -> impl Iterator<Item = char> {
    let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    let code = (c.is_control() || turns).then(|| c.escape_unicode());
    let plain = code.is_none().then_some(c);
    code.into_iter().flatten().chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(listed: &[&str]) -> (Vec<String>, Vec<String>) {
        let listed = listed.iter().map(|json| Bytes::copy_from_slice(json.as_bytes())).collect();
        let (tools, warnings) = Tools::read(&"s".into(), listed, &Mask::default());
        (tools.list.iter().map(|tool| tool.json().to_owned()).collect(), warnings)
    }

    #[test]
    fn a_bad_tool_is_named_and_costs_the_others_nothing() {
        let (tools, warnings) = read(&[
            r#"{"name":"a"}"#,
            "7",
            r#"{"name":"b\u0007\u202e","inputSchema":true}"#,
            r#"{"name":"a","description":"second"}"#,
            r#"{"name":"c"}"#,
        ]);
        assert_eq!(tools, [r#"{"name":"a"}"#, r#"{"name":"c"}"#]);
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(warnings[0].contains("number 2"), "{warnings:?}");
        assert!(warnings[1].contains(r#""b\u{7}\u{202e}""#), "{warnings:?}");
        assert!(warnings[2].contains("\"a\" is listed more than once"), "{warnings:?}");
    }

    #[test]
    fn a_tool_over_a_limit_is_named_and_costs_the_others_nothing() {
        let long = "x".repeat(1000);
        let listed = [
            format!(r#"{{"name":"wordy","description":"{long}{long}"}}"#),
            format!(r#"{{"name":"{long}"}}"#),
            format!(r#"{{"name":"a","description":"{long}"}}"#),
        ];
        let listed = listed.into_iter().map(Bytes::from).collect();
        let limits = Limits { text_bytes: 500, tool_bytes: 1500, ..Limits::default() };
        let (tools, warnings) =
            Tools::read_within(&"s".into(), listed, &Mask::default(), &limits, |_| None);
        assert_eq!(tools.list.iter().map(|tool| tool.raw_name()).collect::<Vec<_>>(), ["a"]);
        assert!(warnings[0].contains("\"wordy\"") && warnings[0].contains("1500"), "{warnings:?}");
        assert!(warnings[1].contains("500") && warnings[1].len() < 300, "{warnings:?}");
    }

    #[test]
    fn many_bad_tools_are_few_lines_and_long_names_short_ones() {
        let long = format!(r#"{{"name":"{}","inputSchema":[]}}"#, "x".repeat(10_000));
        let (tools, warnings) = read(&vec![long.as_str(); 500]);
        assert!(tools.is_empty());
        assert_eq!(warnings.len(), NAMED + 1);
        assert!(warnings.iter().all(|line| line.len() < 200), "{warnings:?}");
        assert!(warnings[NAMED].contains("480 more"));
    }
}
