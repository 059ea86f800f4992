//! Owns the names under which tools are shown to agents.
//! A plain name that two tools would share goes to neither: both get a suffix made from their raw identity. So no
//! order of starting decides a name, and a name never passes from one tool to another.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::ServerTool;
use crate::error::{Error, ErrorKind, Result};

const LIMIT: usize = 64;
const SUFFIX: usize = 8;

/// A function of server and raw tool name; without an answer the tool gets its plain name.
pub type NamingFunction = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// How tools are named.
#[derive(Clone, Default)]
pub enum Naming {
    /// `mcp_server_tool`
    #[default]
    Plain,
    /// As plain, with digits made `_` too.
    Letters,
    /// `mcp__server__tool`
    Double,
    /// `server.tool`, as the server and the config write it.
    Raw,
    /// A function of server and raw tool name; its answers are made legal and unique.
    Function(NamingFunction),
}

impl std::fmt::Debug for Naming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Naming::Plain => "Plain",
            Naming::Letters => "Letters",
            Naming::Double => "Double",
            Naming::Raw => "Raw",
            Naming::Function(_) => "Function",
        })
    }
}

impl Naming {
    /// The style of this name.
    pub fn from_style(style: &str) -> Result<Naming> {
        match style {
            "plain" => Ok(Naming::Plain),
            "letters" => Ok(Naming::Letters),
            "double" => Ok(Naming::Double),
            "raw" => Ok(Naming::Raw),
            _ => Err(Error::new(
                ErrorKind::ConfigInvalid,
                format!("There is no naming style \"{style}\""),
            )
            .with_hint("use plain, letters, double, raw, or a function of server and tool")),
        }
    }

    /// A name for each tool, in order: legal, and no two alike.
    pub(super) fn name_all(&self, tools: &[Arc<ServerTool>]) -> Vec<String> {
        let wanted: Vec<String> =
            tools.iter().map(|tool| self.plain(tool.server(), tool.raw_name())).collect();
        let mut askers: HashMap<&str, usize> = HashMap::new();
        for name in &wanted {
            *askers.entry(name).or_default() += 1;
        }
        let limit = if matches!(self, Naming::Raw) { usize::MAX } else { LIMIT };
        let mut names: Vec<String> = wanted
            .iter()
            .zip(tools)
            .map(|(name, tool)| {
                if name.len() <= limit && askers[name.as_str()] == 1 {
                    name.clone()
                } else {
                    suffixed(name, tool, limit, 0)
                }
            })
            .collect();
        part_twins(&mut names, tools, limit);
        names
    }

    fn plain(&self, server: &str, tool: &str) -> String {
        let with_digits = !matches!(self, Naming::Letters);
        let (server_part, tool_part) =
            (part(server, "server", with_digits), part(tool, "tool", with_digits));
        let redundant = format!("{server_part}_");
        let tool_part = match tool_part.strip_prefix(&redundant) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &tool_part,
        };
        match self {
            Naming::Plain | Naming::Letters => format!("mcp_{server_part}_{tool_part}"),
            Naming::Double => format!("mcp__{server_part}__{tool_part}"),
            Naming::Raw => format!("{server}.{tool}"),
            Naming::Function(function) => match function(server, tool) {
                Some(name) => legal(&name),
                None => Naming::Plain.plain(server, tool),
            },
        }
    }
}

/// Suffixes can meet by chance, or meet a plain name; the rest of the hash decides then.
fn part_twins(names: &mut [String], tools: &[Arc<ServerTool>], limit: usize) {
    for round in 1..8 {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for name in names.iter() {
            *seen.entry(name).or_default() += 1;
        }
        let twins: Vec<usize> =
            (0..names.len()).filter(|&at| seen[names[at].as_str()] > 1).collect();
        if twins.is_empty() {
            return;
        }
        for at in twins {
            names[at] = suffixed(&names[at], &tools[at], limit, round);
        }
    }
}

fn suffixed(name: &str, tool: &ServerTool, limit: usize, round: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(tool.server());
    hash.update([0]);
    hash.update(tool.raw_name());
    let hash = hex(&hash.finalize());
    let room = limit.saturating_sub(SUFFIX + 1);
    let cut: String = name.chars().take(room).collect();
    format!("{}_{}", cut.trim_end_matches('_'), &hash[round * SUFFIX..][..SUFFIX])
}

/// Lower case, `[a-z0-9_]` only, no runs of `_`, none at the ends.
fn part(raw: &str, fallback: &str, with_digits: bool) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars().map(|c| c.to_ascii_lowercase()) {
        let keep = c.is_ascii_lowercase() || (with_digits && c.is_ascii_digit());
        let c = if keep { c } else { '_' };
        if c != '_' || !(out.is_empty() || out.ends_with('_')) {
            out.push(c);
        }
    }
    let trimmed = out.trim_end_matches('_');
    if trimmed.is_empty() { fallback.to_owned() } else { trimmed.to_owned() }
}

fn legal(name: &str) -> String {
    let legal: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' })
        .collect();
    if legal.is_empty() { "tool".to_owned() } else { legal }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(naming: &Naming, tools: &[(&str, &str)]) -> Vec<String> {
        let tools: Vec<Arc<ServerTool>> = tools
            .iter()
            .map(|(server, tool)| {
                let json = serde_json::json!({"name": tool}).to_string();
                Arc::new(ServerTool::read(&(*server).into(), json.into()).unwrap())
            })
            .collect();
        naming.name_all(&tools)
    }

    #[test]
    fn plain_names_follow_the_contract() {
        let plain = |server, tool| named(&Naming::Plain, &[(server, tool)]).remove(0);
        assert_eq!(plain("Time", "get-Current  time"), "mcp_time_get_current_time");
        assert_eq!(plain("github", "github_search"), "mcp_github_search");
        assert_eq!(plain("github", "github_"), "mcp_github_github");
        assert_eq!(plain("--", "日本"), "mcp_server_tool");
        assert_eq!(plain("a", "x1"), "mcp_a_x1");
        assert_eq!(named(&Naming::Letters, &[("a1", "x2y")]), ["mcp_a_x_y"]);
        assert_eq!(named(&Naming::Double, &[("a", "b")]), ["mcp__a__b"]);
        assert_eq!(named(&Naming::Raw, &[("A.b", "c-D")]), ["A.b.c-D"]);
    }

    #[test]
    fn tools_that_would_share_a_name_both_get_a_suffix_in_any_order() {
        let one = [("a-b", "x"), ("a", "b_x"), ("c", "y")];
        let mut other = one;
        other.reverse();
        let names = named(&Naming::Plain, &one);
        let mut reversed = named(&Naming::Plain, &other);
        reversed.reverse();
        assert_eq!(names, reversed);
        assert_ne!(names[0], names[1]);
        assert!(names[0].starts_with("mcp_a_b_x_") && names[1].starts_with("mcp_a_b_x_"));
        assert_eq!(names[2], "mcp_c_y");
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let long = "x".repeat(200);
        let longer = format!("{long}y");
        let names = named(&Naming::Plain, &[("s", &long), ("s", &longer)]);
        assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn a_functions_answers_are_made_legal_and_unique() {
        let constant = Naming::Function(Arc::new(|_, _| Some("same name!".into())));
        let names = named(&constant, &[("s", "a"), ("s", "b")]);
        assert!(names.iter().all(|name| name.starts_with("same_name")), "{names:?}");
        assert_ne!(names[0], names[1]);
        let silent = Naming::Function(Arc::new(|_, _| None));
        assert_eq!(named(&silent, &[("S-1", "Get It")]), ["mcp_s_1_get_it"]);
    }
}
