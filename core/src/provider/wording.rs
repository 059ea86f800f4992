//! Declares how each product writes what our model says: its shape of a program, its words for transports and fields,
//! and what it needs besides. `denormalise` writes with it; a row of the table has one of them.
//! Invariant: `normalise` reads every word that stands here.

/// How a product writes a server.
#[derive(Clone, Copy)]
pub(crate) struct Wording {
    pub(crate) program: ProgramShape,
    /// The field with the transport's word.
    pub(crate) type_field: &'static str,
    /// The transports that the product has.
    pub(crate) transports: &'static [TransportWord],
    /// Our fields that the product has. It ignores the others, unless `is_strict`.
    pub(crate) fields: &'static [(&'static str, FieldWord)],
    /// The object about signing in.
    pub(crate) auth: Option<AuthWords>,
    /// Fields for what comes from the environment by name.
    pub(crate) by_name: Option<ByName>,
    /// Fields without which the product does not take the entry.
    pub(crate) needed: &'static [NeededField],
    /// Whether an unknown field makes the file invalid for the product.
    pub(crate) is_strict: bool,
    /// Whether servers are a list with names, in files that are not JSON.
    pub(crate) is_list: bool,
    /// Files, by name, in which servers that are the first do not go into the first container, and the one for them.
    pub(crate) first_container: &'static [(&'static str, usize)],
    /// What a new file needs besides the servers.
    pub(crate) new_file: &'static [(&'static str, &'static str)],
}

/// How a program and its arguments are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramShape {
    /// The program under this name, the arguments under `args`.
    Apart(&'static str),
    /// Both in one list under this name.
    List(&'static str),
}

/// One transport of a product.
#[derive(Clone, Copy)]
pub(crate) struct TransportWord {
    /// Our name of it.
    pub(crate) ours: &'static str,
    /// The product's; without one, the other fields tell.
    pub(crate) word: Option<&'static str>,
    /// The field with the address.
    pub(crate) url: &'static str,
}

/// Where a product has one of our fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldWord {
    /// Under this name, with the same meaning.
    Name(&'static str),
    /// Under this name, with the opposite meaning.
    Opposite(&'static str),
    /// Below an object of this name.
    Below(&'static str, &'static str),
    /// Tools by name under this name, each switched off.
    SwitchedOff(&'static str),
    /// `false` is true under this name.
    NotIf(&'static str),
    /// `false` is a list of all under this name.
    NotForAll(&'static str),
}

/// The object about signing in.
#[derive(Clone, Copy)]
pub(crate) struct AuthWords {
    pub(crate) field: &'static str,
    /// Our fields in it, and the product's.
    pub(crate) words: &'static [(&'static str, &'static str)],
    /// Whether scopes are one text with spaces.
    pub(crate) scopes_as_text: bool,
}

/// Fields with names of variables.
#[derive(Clone, Copy)]
pub(crate) struct ByName {
    /// A list of variables that are passed on.
    pub(crate) variables: &'static str,
    /// Headers whose values are names of variables.
    pub(crate) headers: &'static str,
    /// The variable with a bearer token.
    pub(crate) bearer: &'static str,
}

/// A field that is filled in if the definition does not say it.
#[derive(Clone, Copy)]
pub(crate) struct NeededField {
    pub(crate) field: &'static str,
    pub(crate) value: Filling,
    /// Only of programs.
    pub(crate) of_programs: bool,
}

/// What is filled in.
#[derive(Clone, Copy)]
pub(crate) enum Filling {
    /// The server's name.
    ServerName,
    EmptyText,
    EmptyList,
    True,
    /// The list of all tools.
    AllTools,
}

const fn stdio(word: Option<&'static str>) -> TransportWord {
    TransportWord { ours: "stdio", word, url: "" }
}

const fn http(word: Option<&'static str>, url: &'static str) -> TransportWord {
    TransportWord { ours: "http", word, url }
}

const fn sse(word: Option<&'static str>, url: &'static str) -> TransportWord {
    TransportWord { ours: "sse", word, url }
}

const fn websocket(word: &'static str) -> TransportWord {
    TransportWord { ours: "websocket", word: Some(word), url: "url" }
}

const fn needed(field: &'static str, value: Filling) -> NeededField {
    NeededField { field, value, of_programs: false }
}

const ENV: (&str, FieldWord) = ("env", FieldWord::Name("env"));
const ENV_FILE: (&str, FieldWord) = ("envFile", FieldWord::Name("envFile"));
const CWD: (&str, FieldWord) = ("cwd", FieldWord::Name("cwd"));
const HEADERS: (&str, FieldWord) = ("headers", FieldWord::Name("headers"));
const ENABLED: (&str, FieldWord) = ("enabled", FieldWord::Name("enabled"));
const DISABLED: (&str, FieldWord) = ("enabled", FieldWord::Opposite("disabled"));
const DISABLED_TOOLS: (&str, FieldWord) = ("disabledTools", FieldWord::Name("disabledTools"));
const AUTO_APPROVE: (&str, FieldWord) = ("requiresApproval", FieldWord::NotForAll("autoApprove"));

/// What most products have.
pub(crate) const PLAIN: Wording = Wording {
    program: ProgramShape::Apart("command"),
    type_field: "type",
    transports: &[stdio(None), http(Some("http"), "url"), sse(Some("sse"), "url")],
    fields: &[ENV, HEADERS],
    auth: None,
    by_name: None,
    needed: &[],
    is_strict: false,
    is_list: false,
    first_container: &[],
    new_file: &[],
};

/// `.mcp.json` and Claude Code's own file.
pub(crate) const CLAUDE_CODE: Wording = Wording {
    transports: &[
        stdio(Some("stdio")),
        http(Some("http"), "url"),
        sse(Some("sse"), "url"),
        websocket("ws"),
    ],
    fields: &[ENV, HEADERS, ("headersHelper", FieldWord::Name("headersHelper"))],
    auth: Some(AuthWords {
        field: "oauth",
        words: &[("clientId", "clientId"), ("callbackPort", "callbackPort"), ("scopes", "scopes")],
        scopes_as_text: true,
    }),
    ..PLAIN
};

pub(crate) const CLAUDE_DESKTOP: Wording =
    Wording { transports: &[stdio(None)], fields: &[ENV], ..PLAIN };

pub(crate) const OH_MY_PI: Wording =
    Wording { fields: &[ENV, CWD, HEADERS, ENABLED, ("auth", FieldWord::Name("auth"))], ..PLAIN };

pub(crate) const AI_AGENT: Wording = Wording {
    transports: &[
        stdio(Some("stdio")),
        http(Some("http"), "url"),
        sse(Some("sse"), "url"),
        websocket("websocket"),
    ],
    fields: &[
        ENV,
        HEADERS,
        ENABLED,
        ("enabledTools", FieldWord::Name("toolsAllowed")),
        ("disabledTools", FieldWord::Name("toolsDenied")),
        ("shared", FieldWord::Name("shared")),
        ("healthProbe", FieldWord::Name("healthProbe")),
    ],
    ..PLAIN
};

pub(crate) const AEL: Wording = Wording {
    type_field: "transport",
    transports: &[stdio(None), http(Some("streamable_http"), "url"), sse(Some("sse"), "url")],
    fields: &[ENV, HEADERS],
    ..PLAIN
};

pub(crate) const CODEX: Wording = Wording {
    transports: &[stdio(None), http(None, "url")],
    fields: &[
        ENV,
        CWD,
        ENABLED,
        ("headers", FieldWord::Name("http_headers")),
        ("required", FieldWord::Name("required")),
        ("enabledTools", FieldWord::Name("enabled_tools")),
        ("disabledTools", FieldWord::Name("disabled_tools")),
    ],
    auth: Some(AuthWords {
        field: "oauth",
        words: &[("clientId", "client_id")],
        scopes_as_text: false,
    }),
    by_name: Some(ByName {
        variables: "env_vars",
        headers: "env_http_headers",
        bearer: "bearer_token_env_var",
    }),
    is_strict: true,
    ..PLAIN
};

pub(crate) const GEMINI: Wording = Wording {
    transports: &[stdio(None), http(None, "httpUrl"), sse(None, "url")],
    fields: &[
        ENV,
        CWD,
        HEADERS,
        ("enabledTools", FieldWord::Name("includeTools")),
        ("disabledTools", FieldWord::Name("excludeTools")),
        ("requiresApproval", FieldWord::NotIf("trust")),
    ],
    auth: Some(AuthWords {
        field: "oauth",
        words: &[("clientId", "clientId"), ("clientSecret", "clientSecret"), ("scopes", "scopes")],
        scopes_as_text: false,
    }),
    ..PLAIN
};

pub(crate) const OPENCODE: Wording = Wording {
    program: ProgramShape::List("command"),
    transports: &[stdio(Some("local")), http(Some("remote"), "url")],
    fields: &[("env", FieldWord::Name("environment")), CWD, HEADERS, ENABLED],
    auth: Some(AuthWords {
        field: "oauth",
        words: &[("clientId", "clientId"), ("clientSecret", "clientSecret"), ("scopes", "scope")],
        scopes_as_text: true,
    }),
    needed: &[needed("enabled", Filling::True)],
    is_strict: true,
    ..PLAIN
};

pub(crate) const COPILOT_CLI: Wording = Wording {
    transports: &[stdio(Some("local")), http(Some("http"), "url"), sse(Some("sse"), "url")],
    fields: &[ENV, CWD, HEADERS, ("enabledTools", FieldWord::Name("tools"))],
    needed: &[needed("tools", Filling::AllTools)],
    ..PLAIN
};

pub(crate) const CURSOR: Wording = Wording {
    transports: &[stdio(None), http(None, "url"), sse(Some("sse"), "url")],
    fields: &[ENV, ENV_FILE, HEADERS],
    auth: Some(AuthWords {
        field: "auth",
        words: &[
            ("clientId", "CLIENT_ID"),
            ("clientSecret", "CLIENT_SECRET"),
            ("scopes", "scopes"),
        ],
        scopes_as_text: false,
    }),
    ..PLAIN
};

/// Windsurf and Antigravity.
pub(crate) const WITH_SERVER_URL: Wording = Wording {
    transports: &[stdio(None), http(None, "serverUrl"), sse(Some("sse"), "serverUrl")],
    fields: &[ENV, HEADERS, DISABLED, DISABLED_TOOLS],
    ..PLAIN
};

pub(crate) const CLINE: Wording = Wording {
    transports: &[
        stdio(Some("stdio")),
        http(Some("streamableHttp"), "url"),
        sse(Some("sse"), "url"),
    ],
    fields: &[ENV, CWD, HEADERS, DISABLED, AUTO_APPROVE],
    ..PLAIN
};

pub(crate) const ROO: Wording = Wording {
    transports: &[
        stdio(Some("stdio")),
        http(Some("streamable-http"), "url"),
        sse(Some("sse"), "url"),
    ],
    fields: &[
        ENV,
        CWD,
        HEADERS,
        DISABLED,
        DISABLED_TOOLS,
        ("requiresApproval", FieldWord::NotForAll("alwaysAllow")),
    ],
    ..PLAIN
};

pub(crate) const ZED: Wording = Wording {
    transports: &[stdio(None), http(None, "url")],
    fields: &[ENV, HEADERS, ENABLED],
    needed: &[NeededField { field: "args", value: Filling::EmptyList, of_programs: true }],
    ..PLAIN
};

pub(crate) const GOOSE: Wording = Wording {
    program: ProgramShape::Apart("cmd"),
    // Goose reads `sse` and refuses to use it.
    transports: &[stdio(Some("stdio")), http(Some("streamable_http"), "uri")],
    fields: &[
        ("env", FieldWord::Name("envs")),
        HEADERS,
        ENABLED,
        ("enabledTools", FieldWord::Name("available_tools")),
    ],
    needed: &[
        needed("name", Filling::ServerName),
        needed("description", Filling::EmptyText),
        needed("enabled", Filling::True),
        NeededField { field: "args", value: Filling::EmptyList, of_programs: true },
    ],
    ..PLAIN
};

pub(crate) const CRUSH: Wording = Wording {
    transports: &[stdio(Some("stdio")), http(Some("http"), "url"), sse(Some("sse"), "url")],
    fields: &[
        ENV,
        HEADERS,
        DISABLED,
        ("enabledTools", FieldWord::Name("enabled_tools")),
        ("disabledTools", FieldWord::Name("disabled_tools")),
    ],
    ..PLAIN
};

pub(crate) const CONTINUE: Wording = Wording {
    transports: &[
        stdio(Some("stdio")),
        http(Some("streamable-http"), "url"),
        sse(Some("sse"), "url"),
    ],
    fields: &[ENV, CWD, ("headers", FieldWord::Below("requestOptions", "headers"))],
    is_list: true,
    new_file: &[("name", "MCP servers"), ("version", "0.0.1"), ("schema", "v1")],
    ..PLAIN
};

/// Kiro and Amazon Q.
pub(crate) const KIRO: Wording = Wording {
    transports: &[stdio(None), http(None, "url"), sse(Some("sse"), "url")],
    fields: &[ENV, HEADERS, DISABLED, DISABLED_TOOLS, AUTO_APPROVE],
    ..PLAIN
};

pub(crate) const AMAZON_Q: Wording = Wording {
    transports: &[stdio(None), http(Some("http"), "url")],
    fields: &[ENV, HEADERS, DISABLED, DISABLED_TOOLS, AUTO_APPROVE],
    ..PLAIN
};

pub(crate) const VSCODE: Wording = Wording {
    transports: &[stdio(Some("stdio")), http(Some("http"), "url"), sse(Some("sse"), "url")],
    fields: &[ENV, ENV_FILE, CWD, HEADERS],
    first_container: &[("settings.json", 1)],
    ..PLAIN
};

pub(crate) const SIDECAR: Wording = Wording {
    transports: &[stdio(Some("stdio")), http(Some("http"), "url"), sse(Some("sse"), "url")],
    fields: &[
        ENV,
        HEADERS,
        ("disabledTools", FieldWord::SwitchedOff("tools")),
        ("maxResultChars", FieldWord::Name("maxResultChars")),
    ],
    ..PLAIN
};
