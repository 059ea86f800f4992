//! The products that configure MCP servers, one row for each.

use super::{
    Base, BuiltIn, FileLocation, ListEffect, ListScope, NameList, Provider, Sign, Step, TimeField,
    wording,
};
use crate::config::parse::Format;
use crate::config::syntax::Syntax;
use crate::config::{Level, container, own_file};

const fn user(base: Base, path: &'static str) -> FileLocation {
    FileLocation { level: Level::User, base, path }
}

const fn project(path: &'static str) -> FileLocation {
    FileLocation { level: Level::Project, base: Base::Project, path }
}

const OWN_LOCATIONS: [FileLocation; 2 * own_file::NAMES.len()] = {
    let mut locations = [user(Base::OwnUser, own_file::NAMES[0]); 2 * own_file::NAMES.len()];
    let mut at = 0;
    while at < own_file::NAMES.len() {
        let path = own_file::NAMES[at];
        locations[at] = FileLocation { level: Level::Project, base: Base::OwnProject, path };
        locations[own_file::NAMES.len() + at] = user(Base::OwnUser, path);
        at += 1;
    }
    locations
};

const fn names(path: &'static [Step], effect: ListEffect, scope: ListScope) -> NameList {
    NameList { path, effect, scope }
}

const fn time(field: &'static str, unit_ms: u64, sets: &'static [&'static str]) -> TimeField {
    TimeField { field, unit_ms, is_whole: false, sets }
}

/// A time in whole seconds.
const fn whole_seconds(field: &'static str, sets: &'static [&'static str]) -> TimeField {
    TimeField { field, unit_ms: S, is_whole: true, sets }
}

const MS: u64 = 1;
const S: u64 = 1000;
const CONNECT: &[&str] = &["timeout"];
const REQUEST: &[&str] = &["timeout", "toolTimeout"];
const TOOL: &[&str] = &["toolTimeout"];
const MCP_SERVERS: &[Step] = &[Step::Key(container::MCP_SERVERS)];
const BRACES_AND_DEFAULTS: Syntax = Syntax::BRACES.union(Syntax::DEFAULTS);

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
    tool_switches: None,
    built_in: &[],
    command_line: false,
    variables: None,
    bare_env_names: false,
    inputs: &[],
    empty_list_is_all: false,
    retry: &[],
    quiet: &[],
    signs: &[],
    is_own: false,
    wording: wording::PLAIN,
};

/// Our own model, which is also that of documents that could be any product's.
pub(crate) const OWN: Provider = Provider {
    name: "mcpool",
    priority: 100,
    locations: &OWN_LOCATIONS,
    // Names of other products that say what their unit is.
    times: &[
        time("startup_timeout_sec", S, CONNECT),
        time("startup_timeout_ms", MS, CONNECT),
        time("tool_timeout_sec", S, TOOL),
        time("requestTimeoutMs", MS, &["requestTimeout"]),
    ],
    syntax: Syntax::OURS,
    lists: &[
        names(&[Step::Key("disabledServers")], ListEffect::Off, ListScope::Everything),
        names(&[Step::Key("enabledServers")], ListEffect::Only, ListScope::Everything),
    ],
    is_own: true,
    ..PLAIN
};

/// All products, in order of priority.
pub(crate) static PROVIDERS: &[Provider] = &[
    OWN,
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
        syntax: BRACES_AND_DEFAULTS.union(Syntax::COMMANDS),
        lists: &[
            names(&[Step::Key("disabledServers")], ListEffect::Off, ListScope::Everything),
            names(&[Step::Key("enabledServers")], ListEffect::On, ListScope::Everything),
        ],
        bare_env_names: true,
        wording: wording::OH_MY_PI,
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
        wording: wording::AI_AGENT,
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
        syntax: BRACES_AND_DEFAULTS.union(Syntax::MESSAGES),
        command_line: true,
        retry: &["retry", "retries"],
        wording: wording::AEL,
        ..PLAIN
    },
    Provider {
        name: "claude-code",
        priority: 80,
        locations: &[
            project(".claude/mcp.json"),
            project(".claude/.mcp.json"),
            user(Base::Env("CLAUDE_CONFIG_DIR"), ".claude.json"),
            user(Base::Home, ".claude.json"),
            user(Base::Env("CLAUDE_CONFIG_DIR"), "mcp.json"),
            user(Base::Home, ".claude/mcp.json"),
        ],
        containers: &[
            &[Step::Key("projects"), Step::ProjectPath, Step::Key(container::MCP_SERVERS)],
            MCP_SERVERS,
        ],
        times: &[time("timeout", MS, REQUEST)],
        syntax: BRACES_AND_DEFAULTS,
        lists: &[names(
            &[Step::Key("projects"), Step::ProjectPath, Step::Key("disabledMcpServers")],
            ListEffect::Off,
            ListScope::Provider,
        )],
        wording: wording::CLAUDE_CODE,
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
        wording: wording::CLAUDE_DESKTOP,
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
        signs: &[
            Sign::Format(Format::Toml),
            Sign::Field("startup_timeout_sec"),
            Sign::Field("startup_timeout_ms"),
            Sign::Field("tool_timeout_sec"),
            Sign::Field("env_vars"),
            Sign::Field("bearer_token_env_var"),
            Sign::Field("http_headers"),
            Sign::Field("env_http_headers"),
        ],
        wording: wording::CODEX,
        ..PLAIN
    },
    Provider {
        name: "gemini",
        priority: 60,
        locations: &[project(".gemini/settings.json"), user(Base::Home, ".gemini/settings.json")],
        url_type: Some("sse"),
        times: &[time("timeout", MS, REQUEST)],
        syntax: Syntax::BRACES.union(Syntax::DOLLAR).union(Syntax::PERCENT),
        lists: &[
            names(&[Step::Key("mcp"), Step::Key("excluded")], ListEffect::Off, ListScope::Provider),
            names(&[Step::Key("mcp"), Step::Key("allowed")], ListEffect::Only, ListScope::Provider),
        ],
        wording: wording::GEMINI,
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
        tool_switches: Some("tools"),
        syntax: Syntax::CURLY_ENV.union(Syntax::CURLY_FILE),
        signs: &[
            Sign::Text("type", "local"),
            Sign::Text("type", "remote"),
            Sign::Field("environment"),
            Sign::List("command"),
        ],
        wording: wording::OPENCODE,
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
        wording: wording::COPILOT_CLI,
        ..PLAIN
    },
    Provider {
        name: "cursor",
        priority: 50,
        locations: &[project(".cursor/mcp.json"), user(Base::Home, ".cursor/mcp.json")],
        syntax: Syntax::ENV.union(Syntax::WORKSPACE),
        wording: wording::CURSOR,
        ..PLAIN
    },
    Provider {
        name: "windsurf",
        priority: 50,
        locations: &[user(Base::Home, ".codeium/windsurf/mcp_config.json")],
        syntax: Syntax::ENV.union(Syntax::FILES),
        wording: wording::WITH_SERVER_URL,
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
        wording: wording::CLINE,
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
        syntax: Syntax::ENV.union(Syntax::WORKSPACE),
        wording: wording::ROO,
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
        times: &[whole_seconds("timeout", REQUEST)],
        built_in: &[BuiltIn::Is("source", "extension"), BuiltIn::Without(&["command", "url"])],
        quiet: &["source", "settings"],
        wording: wording::ZED,
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
        times: &[whole_seconds("timeout", REQUEST)],
        syntax: Syntax::BRACES.union(Syntax::DOLLAR),
        built_in: &[
            BuiltIn::Is("type", "builtin"),
            BuiltIn::Foreign("type", "platform"),
            BuiltIn::Foreign("type", "frontend"),
            BuiltIn::Foreign("type", "inline_python"),
        ],
        empty_list_is_all: true,
        quiet: &["bundled"],
        wording: wording::GOOSE,
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
        times: &[whole_seconds("timeout", CONNECT)],
        syntax: BRACES_AND_DEFAULTS.union(Syntax::DOLLAR).union(Syntax::SUBSTITUTION),
        empty_list_is_all: true,
        wording: wording::CRUSH,
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
        quiet: &["faviconUrl", "sourceFile"],
        signs: &[Sign::ListOfServers],
        wording: wording::CONTINUE,
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
        wording: wording::KIRO,
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
        wording: wording::AMAZON_Q,
        ..PLAIN
    },
    Provider {
        name: "antigravity",
        priority: 35,
        locations: &[user(Base::Home, ".gemini/antigravity/mcp_config.json")],
        wording: wording::WITH_SERVER_URL,
        ..PLAIN
    },
    Provider {
        name: "vscode",
        priority: 20,
        locations: &[
            project(".vscode/mcp.json"),
            user(Base::CodeUser, "mcp.json"),
            user(Base::CodeUser, "settings.json"),
        ],
        containers: &[
            &[Step::Key(container::SERVERS)],
            &[Step::Key(container::MCP), Step::Key(container::SERVERS)],
        ],
        syntax: Syntax::INPUTS.union(Syntax::ENV).union(Syntax::WORKSPACE),
        inputs: &[&[Step::Key("inputs")], &[Step::Key(container::MCP), Step::Key("inputs")]],
        quiet: &["gallery", "version", "dev"],
        wording: wording::VSCODE,
        ..PLAIN
    },
    Provider {
        name: "sidecar",
        priority: 10,
        locations: &[project(".vscode/settings.json"), user(Base::CodeUser, "settings.json")],
        containers: &[&[Step::Key("sidecar.mcpServers")]],
        syntax: Syntax::BRACES.union(Syntax::HEADERS_ONLY),
        wording: wording::SIDECAR,
        ..PLAIN
    },
    Provider {
        name: "fallback",
        priority: 5,
        locations: &[project("mcp.json"), project(".mcp.json")],
        times: &[time("timeout", MS, REQUEST)],
        syntax: BRACES_AND_DEFAULTS,
        wording: wording::CLAUDE_CODE,
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
    fn within_a_product_the_projects_files_come_first() {
        for provider in PROVIDERS {
            let levels: Vec<bool> =
                provider.locations.iter().map(|place| place.level == Level::User).collect();
            assert!(levels.is_sorted(), "{}", provider.name);
        }
    }
}
