//! Owns the names under which tools are shown to agents. If two tools want the same plain name, both get a suffix made
//! from their raw identity, so names do not depend on the start order, and no tool has a name that another present tool
//! wants. Tools of an untrusted server yield: they never change the names of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::sync::lock;
use crate::tool::ServerTool;

const LIMIT: usize = 64;
const SUFFIX: usize = 8;
/// How many answers of a naming function are cached. A model can invent endless names; beyond this the function is
/// called each time.
const ANSWERS: usize = 100_000;

/// A function of server and raw tool name; without an answer the tool gets its plain name.
pub type NamingFunction = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// How tools are named.
#[derive(Clone, Default)]
#[non_exhaustive]
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

    fn limit(&self) -> usize {
        if matches!(self, Naming::Raw) { usize::MAX } else { LIMIT }
    }

    /// The name in a built-in style; the default style if a function decides.
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
            Naming::Plain | Naming::Letters | Naming::Function(_) => {
                format!("mcp_{server_part}_{tool_part}")
            }
            Naming::Double => format!("mcp__{server_part}__{tool_part}"),
            Naming::Raw => format!("{server}.{tool}"),
        }
    }
}

/// The names that a manager gives. A naming function is called once per tool, so that its answer stays the tool's name.
pub(crate) struct ToolNames {
    naming: Naming,
    answers: Mutex<HashMap<(String, String), String>>,
}

impl ToolNames {
    pub(crate) fn new(naming: Naming) -> Arc<Self> {
        Arc::new(ToolNames { naming, answers: Mutex::default() })
    }

    /// A name for each tool, in order: legal and unique. Tools that yield get no name that one of the others wants.
    pub(super) fn name_all(&self, tools: &[Arc<ServerTool>], gives_way: &[bool]) -> Vec<String> {
        let wanted: Vec<String> =
            tools.iter().map(|tool| self.wanted(tool.server(), tool.raw_name())).collect();
        let shared = shared_names(&wanted, gives_way);
        let limit = self.naming.limit();
        let mut names: Vec<String> = wanted
            .iter()
            .zip(tools)
            .zip(shared)
            .map(|((name, tool), shared)| {
                if name.len() <= limit && !shared {
                    name.clone()
                } else {
                    suffixed(name, tool.server(), tool.raw_name(), limit, 0)
                }
            })
            .collect();
        suffix_duplicates(&mut names, tools, gives_way, limit);
        names
    }

    /// The name that a tool has without conflicts. Calls the host's function, so only for host threads.
    fn wanted(&self, server: &str, tool: &str) -> String {
        let Naming::Function(function) = &self.naming else {
            return self.naming.plain(server, tool);
        };
        if let Some(name) = self.answered(server, tool) {
            return name;
        }
        // Called without the lock: the function belongs to a language with its own lock.
        match function(server, tool).filter(|name| !name.is_empty()) {
            Some(name) => {
                let key = (server.to_owned(), tool.to_owned());
                let mut answers = lock(&self.answers);
                match answers.len() < ANSWERS {
                    true => answers.entry(key).or_insert_with(|| legal(&name)).clone(),
                    false => legal(&name),
                }
            }
            None => self.naming.plain(server, tool),
        }
    }

    fn answered(&self, server: &str, tool: &str) -> Option<String> {
        lock(&self.answers).get(&(server.to_owned(), tool.to_owned())).cloned()
    }

    /// The names that a tool may have in the catalog, with and without a conflict. A naming function's answer is
    /// included only if it is cached, because any thread may call this.
    pub(super) fn possible(&self, server: &str, tool: &str) -> [String; 2] {
        let plain = match &self.naming {
            Naming::Function(_) => self.answered(server, tool),
            _ => None,
        };
        let plain = plain.unwrap_or_else(|| self.naming.plain(server, tool));
        let suffixed = suffixed(&plain, server, tool, self.naming.limit(), 0);
        [plain, suffixed]
    }

    /// Whether a host function decides.
    pub(super) fn asks_host(&self) -> bool {
        matches!(self.naming, Naming::Function(_))
    }

    /// How many tools the function has named.
    pub(super) fn answered_count(&self) -> u64 {
        if self.asks_host() { lock(&self.answers).len() as u64 } else { 0 }
    }

    /// Calls the naming function for this tool. Only for host threads.
    pub(crate) fn ask_host_for(&self, server: &str, tool: &str) {
        if self.asks_host() {
            self.wanted(server, tool);
        }
    }
}

/// For each name, whether its tool cannot have it: others that do not yield want it too.
fn shared_names(names: &[String], gives_way: &[bool]) -> Vec<bool> {
    let mut askers: HashMap<&str, (usize, usize)> = HashMap::new();
    for (name, &gives_way) in names.iter().zip(gives_way) {
        let (firm, all) = askers.entry(name).or_default();
        *firm += usize::from(!gives_way);
        *all += 1;
    }
    let is_shared = |(name, &gives_way): (&String, &bool)| {
        let (firm, all) = askers[name.as_str()];
        if gives_way { all > 1 } else { firm > 1 }
    };
    names.iter().zip(gives_way).map(is_shared).collect()
}

/// Suffixes can collide with each other or with a plain name; more of the hash decides then.
fn suffix_duplicates(
    names: &mut [String],
    tools: &[Arc<ServerTool>],
    gives_way: &[bool],
    limit: usize,
) {
    for round in 1..8 {
        let shared = shared_names(names, gives_way);
        if !shared.contains(&true) {
            return;
        }
        for at in (0..names.len()).filter(|&at| shared[at]) {
            let tool = &tools[at];
            names[at] = suffixed(&names[at], tool.server(), tool.raw_name(), limit, round);
        }
    }
}

fn suffixed(name: &str, server: &str, tool: &str, limit: usize, round: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(server);
    hash.update([0]);
    hash.update(tool);
    let hash = format!("{:x}", hash.finalize());
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

#[cfg(test)]
mod tests;
