//! Owns the table of products that configure MCP servers: where their files are, how they are structured, and what
//! their fields mean. A product is only a row here; no other code knows a product by name.

use crate::config::syntax::Syntax;
use crate::config::{Level, container};

/// One product.
#[derive(Clone, Copy)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// Higher comes first; equal ones keep the table's order.
    pub(super) priority: u8,
    /// Its files; the project's come before the user's, otherwise in this order.
    pub(super) locations: &'static [FileLocation],
    /// Where in a file the servers are, in order of precedence.
    pub(super) containers: &'static [&'static [Step]],
    /// The transport of an entry with a `url` and no type, if it is not Streamable HTTP.
    pub(super) url_type: Option<&'static str>,
    pub(super) times: &'static [TimeField],
    pub(super) syntax: Syntax,
    /// Lists of server names.
    pub(super) lists: &'static [List],
    /// Entries that are part of the product, not servers.
    pub(super) built_in: &'static [BuiltIn],
    /// Whether `command` is a shell command line that must be split.
    pub(super) command_line: bool,
    /// The file of variables beside the config file.
    pub(super) variables: Option<&'static str>,
    /// Whether a value may be the bare name of a variable.
    pub(super) bare_env_names: bool,
    /// The list that declares `${input:id}`.
    pub(super) inputs: Option<&'static str>,
    /// The files are mcpool's own: definitions are taken as written.
    pub(super) is_own: bool,
}

/// A file, or the files of a directory if the path ends in `*`.
#[derive(Clone, Copy)]
pub(super) struct FileLocation {
    pub(super) level: Level,
    pub(super) base: Base,
    /// Relative to the base, separated by `/`.
    pub(super) path: &'static str,
}

/// The base directory of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Project,
    Home,
    /// `$XDG_CONFIG_HOME` and `~/.config`.
    Config,
    /// `%APPDATA%`, on Windows.
    AppData,
    /// `~/Library/Application Support`, on macOS.
    Library,
    /// Visual Studio Code's user directory.
    CodeUser,
    /// The directory that a variable names.
    Env(&'static str),
    /// `/etc`, except on Windows.
    System,
    /// Our own config directory.
    Own,
}

/// One step from a document to its servers.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Key(&'static str),
    /// The key is the project's directory.
    ProjectPath,
}

/// A timeout field of the product.
#[derive(Clone, Copy)]
pub(super) struct TimeField {
    pub(super) field: &'static str,
    pub(super) unit_ms: u64,
    /// The fields of our model that it sets.
    pub(super) sets: &'static [&'static str],
}

/// A list of server names.
#[derive(Clone, Copy)]
pub(super) struct List {
    pub(super) path: &'static [Step],
    pub(super) effect: Switching,
    pub(super) scope: ListScope,
}

impl List {
    /// The key that holds the list.
    pub(super) fn name(&self) -> String {
        let keys = self.path.iter().map(|step| match step {
            Step::Key(key) => key,
            Step::ProjectPath => "*",
        });
        keys.collect::<Vec<_>>().join(".")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Switching {
    /// These are disabled, whatever else is said.
    Off,
    /// Only these are enabled.
    Only,
    /// These are enabled although their entries say no. Only the user's files may say so.
    On,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListScope {
    /// The product's own servers.
    Provider,
    /// All discovered servers.
    Everything,
}

/// How to recognise an entry that is part of the product.
#[derive(Clone, Copy)]
pub(super) enum BuiltIn {
    Is(&'static str, &'static str),
    /// It has none of these fields.
    Without(&'static [&'static str]),
}

const fn user(base: Base, path: &'static str) -> FileLocation {
    FileLocation { level: Level::User, base, path }
}

const fn project(path: &'static str) -> FileLocation {
    FileLocation { level: Level::Project, base: Base::Project, path }
}

const fn time(field: &'static str, unit_ms: u64, sets: &'static [&'static str]) -> TimeField {
    TimeField { field, unit_ms, sets }
}

const MS: u64 = 1;
const S: u64 = 1000;
const CONNECT: &[&str] = &["timeout"];
const REQUEST: &[&str] = &["timeout", "toolTimeout"];
const TOOL: &[&str] = &["toolTimeout"];
const MCP_SERVERS: &[Step] = &[Step::Key(container::MCP_SERVERS)];
const BRACES_AND_DEFAULTS: Syntax = Syntax::BRACES.and(Syntax::DEFAULTS);

/// A product with `mcpServers` and nothing else.
const PLAIN: Provider = Provider {
    name: "",
    priority: 0,
    locations: &[],
    containers: &[MCP_SERVERS],
    url_type: None,
    times: &[],
    syntax: Syntax::LITERAL,
    lists: &[],
    built_in: &[],
    command_line: false,
    variables: None,
    bare_env_names: false,
    inputs: None,
    is_own: false,
};

/// All products, in order of priority.
pub(super) const PROVIDERS: &[Provider] = &[
    Provider {
        name: "mcpool",
        priority: 100,
        locations: &[
            project(".mcpool/mcp.json"),
            project(".mcpool/mcp.jsonc"),
            project(".mcpool/mcp.yaml"),
            project(".mcpool/mcp.yml"),
            project(".mcpool/mcp.toml"),
            user(Base::Own, "mcp.json"),
            user(Base::Own, "mcp.jsonc"),
            user(Base::Own, "mcp.yaml"),
            user(Base::Own, "mcp.yml"),
            user(Base::Own, "mcp.toml"),
        ],
        syntax: Syntax::OURS,
        lists: &[
            List {
                path: &[Step::Key("disabledServers")],
                effect: Switching::Off,
                scope: ListScope::Everything,
            },
            List {
                path: &[Step::Key("enabledServers")],
                effect: Switching::Only,
                scope: ListScope::Everything,
            },
        ],
        is_own: true,
        ..PLAIN
    },
    Provider {
        name: "oh-my-pi",
        priority: 95,
        locations: &[
            project(".omp/mcp.json"),
            project(".omp/.mcp.json"),
            user(Base::Home, ".omp/agent/mcp.json"),
            user(Base::Home, ".omp/mcp.json"),
        ],
        times: &[time("timeout", MS, CONNECT)],
        syntax: BRACES_AND_DEFAULTS.and(Syntax::COMMANDS),
        lists: &[
            List {
                path: &[Step::Key("disabledServers")],
                effect: Switching::Off,
                scope: ListScope::Everything,
            },
            List {
                path: &[Step::Key("enabledServers")],
                effect: Switching::On,
                scope: ListScope::Everything,
            },
        ],
        bare_env_names: true,
        ..PLAIN
    },
    Provider {
        name: "ai-agent",
        priority: 90,
        locations: &[
            project(".ai-agent.json"),
            user(Base::Home, ".ai-agent/.ai-agent.json"),
            user(Base::Home, ".ai-agent.json"),
            user(Base::System, "ai-agent/.ai-agent.json"),
        ],
        times: &[time("requestTimeoutMs", MS, &["requestTimeout"])],
        syntax: Syntax::STRICT_BRACES,
        variables: Some(".ai-agent.env"),
        ..PLAIN
    },
    Provider {
        name: "ael",
        priority: 85,
        locations: &[project("ael-config.yaml")],
        containers: &[
            &[Step::Key(container::MCP_SERVERS_IN_SNAKE_CASE)],
            &[Step::Key("tools"), Step::Key(container::MCP_SERVERS_IN_SNAKE_CASE)],
        ],
        times: &[time("timeout", S, CONNECT)],
        syntax: BRACES_AND_DEFAULTS.and(Syntax::MESSAGES),
        command_line: true,
        ..PLAIN
    },
    Provider {
        name: "claude-code",
        priority: 80,
        locations: &[
            user(Base::Env("CLAUDE_CONFIG_DIR"), ".claude.json"),
            user(Base::Home, ".claude.json"),
        ],
        containers: &[
            &[Step::Key("projects"), Step::ProjectPath, Step::Key(container::MCP_SERVERS)],
            MCP_SERVERS,
        ],
        times: &[time("timeout", MS, REQUEST)],
        syntax: BRACES_AND_DEFAULTS,
        lists: &[List {
            path: &[Step::Key("projects"), Step::ProjectPath, Step::Key("disabledMcpServers")],
            effect: Switching::Off,
            scope: ListScope::Provider,
        }],
        ..PLAIN
    },
    Provider {
        name: "claude-desktop",
        priority: 78,
        locations: &[
            user(Base::Library, "Claude/claude_desktop_config.json"),
            user(Base::AppData, "Claude/claude_desktop_config.json"),
            user(Base::Config, "Claude/claude_desktop_config.json"),
            user(Base::Config, "claude/claude_desktop_config.json"),
        ],
        ..PLAIN
    },
    Provider {
        name: "codex",
        priority: 70,
        locations: &[
            project(".codex/config.toml"),
            user(Base::Env("CODEX_HOME"), "config.toml"),
            user(Base::Home, ".codex/config.toml"),
            user(Base::System, "codex/config.toml"),
        ],
        containers: &[&[Step::Key(container::MCP_SERVERS_IN_SNAKE_CASE)]],
        times: &[
            time("startup_timeout_sec", S, CONNECT),
            time("startup_timeout_ms", MS, CONNECT),
            time("tool_timeout_sec", S, TOOL),
        ],
        ..PLAIN
    },
    Provider {
        name: "gemini",
        priority: 60,
        locations: &[project(".gemini/settings.json"), user(Base::Home, ".gemini/settings.json")],
        url_type: Some("sse"),
        times: &[time("timeout", MS, REQUEST)],
        syntax: Syntax::BRACES.and(Syntax::DOLLAR).and(Syntax::PERCENT),
        lists: &[
            List {
                path: &[Step::Key("mcp"), Step::Key("excluded")],
                effect: Switching::Off,
                scope: ListScope::Provider,
            },
            List {
                path: &[Step::Key("mcp"), Step::Key("allowed")],
                effect: Switching::Only,
                scope: ListScope::Provider,
            },
        ],
        ..PLAIN
    },
    Provider {
        name: "opencode",
        priority: 55,
        locations: &[
            project("opencode.json"),
            project("opencode.jsonc"),
            user(Base::Config, "opencode/opencode.json"),
            user(Base::Config, "opencode/opencode.jsonc"),
        ],
        containers: &[&[Step::Key(container::MCP)]],
        times: &[time("timeout", MS, CONNECT)],
        syntax: Syntax::CURLY_ENV.and(Syntax::CURLY_FILE),
        ..PLAIN
    },
    Provider {
        name: "copilot-cli",
        priority: 52,
        locations: &[
            project(".github/mcp.json"),
            user(Base::Env("COPILOT_HOME"), "mcp-config.json"),
            user(Base::Home, ".copilot/mcp-config.json"),
        ],
        times: &[time("timeout", MS, REQUEST)],
        syntax: Syntax::BRACES,
        ..PLAIN
    },
    Provider {
        name: "cursor",
        priority: 50,
        locations: &[project(".cursor/mcp.json"), user(Base::Home, ".cursor/mcp.json")],
        syntax: Syntax::ENV.and(Syntax::WORKSPACE),
        ..PLAIN
    },
    Provider {
        name: "windsurf",
        priority: 50,
        locations: &[user(Base::Home, ".codeium/windsurf/mcp_config.json")],
        syntax: Syntax::ENV.and(Syntax::FILES),
        ..PLAIN
    },
    Provider {
        name: "cline",
        priority: 45,
        locations: &[
            user(Base::Home, ".cline/data/settings/cline_mcp_settings.json"),
            user(
                Base::CodeUser,
                "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
        ],
        times: &[time("timeout", S, REQUEST)],
        syntax: Syntax::ENV,
        ..PLAIN
    },
    Provider {
        name: "roo",
        priority: 45,
        locations: &[
            project(".roo/mcp.json"),
            user(
                Base::CodeUser,
                "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
        ],
        times: &[time("timeout", S, REQUEST)],
        syntax: Syntax::ENV.and(Syntax::WORKSPACE),
        ..PLAIN
    },
    Provider {
        name: "zed",
        priority: 40,
        locations: &[
            project(".zed/settings.json"),
            user(Base::AppData, "Zed/settings.json"),
            user(Base::Config, "zed/settings.json"),
        ],
        containers: &[&[Step::Key(container::CONTEXT_SERVERS)]],
        times: &[time("timeout", S, REQUEST)],
        built_in: &[BuiltIn::Is("source", "extension"), BuiltIn::Without(&["command", "url"])],
        ..PLAIN
    },
    Provider {
        name: "goose",
        priority: 40,
        locations: &[
            user(Base::AppData, "Block/goose/config/config.yaml"),
            user(Base::Config, "goose/config.yaml"),
        ],
        containers: &[&[Step::Key(container::EXTENSIONS)]],
        times: &[time("timeout", S, REQUEST)],
        syntax: Syntax::BRACES.and(Syntax::DOLLAR),
        built_in: &[
            BuiltIn::Is("type", "builtin"),
            BuiltIn::Is("type", "platform"),
            BuiltIn::Is("type", "frontend"),
            BuiltIn::Is("type", "inline_python"),
        ],
        ..PLAIN
    },
    Provider {
        name: "crush",
        priority: 40,
        locations: &[
            project("crush.json"),
            project(".crush.json"),
            user(Base::Config, "crush/crush.json"),
        ],
        containers: &[&[Step::Key(container::MCP)]],
        times: &[time("timeout", S, CONNECT)],
        syntax: BRACES_AND_DEFAULTS.and(Syntax::DOLLAR).and(Syntax::SUBSTITUTION),
        ..PLAIN
    },
    Provider {
        name: "continue",
        priority: 40,
        locations: &[
            project(".continue/mcpServers/*"),
            user(Base::Home, ".continue/config.yaml"),
            user(Base::Home, ".continue/mcpServers/*"),
        ],
        times: &[time("connectionTimeout", MS, CONNECT)],
        syntax: Syntax::SECRETS,
        ..PLAIN
    },
    Provider {
        name: "kiro",
        priority: 35,
        locations: &[
            project(".kiro/settings/mcp.json"),
            user(Base::Home, ".kiro/settings/mcp.json"),
        ],
        times: &[time("timeout", MS, REQUEST)],
        ..PLAIN
    },
    Provider {
        name: "lm-studio",
        priority: 35,
        locations: &[user(Base::Home, ".lmstudio/mcp.json")],
        times: &[time("timeout", MS, REQUEST)],
        ..PLAIN
    },
    Provider {
        name: "amazon-q",
        priority: 35,
        locations: &[user(Base::Home, ".aws/amazonq/mcp.json")],
        times: &[time("timeout", MS, REQUEST)],
        ..PLAIN
    },
    Provider {
        name: "antigravity",
        priority: 35,
        locations: &[user(Base::Home, ".gemini/antigravity/mcp_config.json")],
        ..PLAIN
    },
    Provider {
        name: "vscode",
        priority: 20,
        locations: &[project(".vscode/mcp.json"), user(Base::CodeUser, "mcp.json")],
        containers: &[&[Step::Key(container::SERVERS)]],
        syntax: Syntax::INPUTS.and(Syntax::ENV).and(Syntax::WORKSPACE),
        inputs: Some("inputs"),
        ..PLAIN
    },
    Provider {
        name: "sidecar",
        priority: 10,
        locations: &[project(".vscode/settings.json")],
        containers: &[&[Step::Key("sidecar.mcpServers")]],
        syntax: Syntax::BRACES.and(Syntax::HEADERS_ONLY),
        ..PLAIN
    },
    Provider {
        name: "fallback",
        priority: 5,
        locations: &[project("mcp.json"), project(".mcp.json")],
        times: &[time("timeout", MS, REQUEST)],
        syntax: BRACES_AND_DEFAULTS,
        ..PLAIN
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_names_are_unique() {
        assert!(PROVIDERS.is_sorted_by(|one, next| one.priority >= next.priority));
        let names: std::collections::HashSet<_> = PROVIDERS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), PROVIDERS.len());
    }

    #[test]
    fn what_stands_at_the_top_of_a_file_can_be_edited() {
        for steps in PROVIDERS.iter().flat_map(|provider| provider.containers) {
            // A key with a dot belongs to the settings of an editor, which has its own way to change them.
            if let [Step::Key(key)] = steps {
                assert!(container::ALL.contains(key) || key.contains('.'), "{key}");
            }
        }
    }

    #[test]
    fn within_a_product_the_projects_files_come_first() {
        for provider in PROVIDERS {
            let levels: Vec<bool> =
                provider.locations.iter().map(|place| place.level == Level::User).collect();
            assert!(levels.is_sorted(), "{}", provider.name);
        }
    }
}
