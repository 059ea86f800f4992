//! Owns detecting a server that only bridges to another one: `npx mcp-remote <url>` and its variants.

use serde_json::{Map, Value, json};

use crate::config::syntax::no_command;

const BRIDGE: &str = "mcp-remote";
/// Programs that run a package, or a script by its path.
const LAUNCHERS: &[&str] =
    &["npx", "bunx", "pnpx", "pnpm", "yarn", "npm", "bun", "node", "deno", "cmd"];
const TRANSPORTS: &[(&str, &str)] = &[("sse-only", "sse"), ("sse-first", "sse")];

/// The definition that reaches the other server directly, with all settings of the bridge.
pub(super) fn direct(definition: &Map<String, Value>) -> Option<Map<String, Value>> {
    let args: Vec<&str> = match definition.get("args") {
        Some(Value::Array(args)) => args.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let program = program_name(definition.get("command")?.as_str()?);
    let after = if program == BRIDGE {
        0
    } else if LAUNCHERS.contains(&program.as_str()) {
        args.iter().position(|arg| is_bridge(arg))? + 1
    } else {
        return None;
    };
    let options = &args[after..];
    let at = options.iter().position(|arg| is_address(arg))?;
    let url = options[at];
    let kind = option(options, "--transport")
        .next()
        .and_then(|chosen| TRANSPORTS.iter().find(|(name, _)| *name == chosen))
        .map(|(_, kind)| *kind);
    // The bridge tries the newer transport first; for such an address it ends up with the older one.
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    let kind = kind.unwrap_or(if path.ends_with("/sse") { "sse" } else { "http" });
    let headers: Map<String, Value> = option(options, "--header")
        .filter_map(|header| header.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), json!(expanded_by_bridge(value.trim()))))
        .collect();
    let mut direct = definition.clone();
    for field in ["command", "args", "cwd", "envFile"] {
        direct.shift_remove(field);
    }
    direct.insert("type".to_owned(), kind.into());
    direct.insert("url".to_owned(), url.into());
    if !headers.is_empty() {
        direct.insert("headers".to_owned(), Value::Object(headers));
    }
    Some(direct)
}

fn program_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_ascii_lowercase();
    [".cmd", ".exe", ".ps1"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name)
        .into()
}

/// Matches the package with or without a version, its program by path, and the script inside the package.
fn is_bridge(arg: &str) -> bool {
    let is_package = |part: &str| part == BRIDGE || part.starts_with("mcp-remote@");
    // `@scope/mcp-remote` is another package.
    if arg.starts_with('@') {
        return false;
    }
    let script = arg.strip_suffix("/dist/proxy.js").unwrap_or(arg);
    is_package(script.rsplit(['/', '\\']).next().unwrap_or(script))
}

fn is_address(arg: &str) -> bool {
    arg.starts_with("https://") || arg.starts_with("http://")
}

/// The values of a repeatable option, as `--name value` or `--name=value`.
fn option<'a>(options: &'a [&'a str], name: &'static str) -> impl Iterator<Item = &'a str> {
    options.iter().enumerate().filter_map(move |(at, arg)| match arg.strip_prefix(name)? {
        "" => options.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    })
}

/// The bridge expands `${NAME}` itself, even if the product that starts it does not. It runs no commands.
fn expanded_by_bridge(value: &str) -> String {
    no_command(value.replace("$${", "${"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct_value(command: &str, args: &[&str]) -> Option<Value> {
        let definition = json!({"command": command, "args": args, "timeout": 5});
        direct(definition.as_object().expect("an object")).map(Value::Object)
    }

    #[test]
    fn every_way_to_start_it_is_known() {
        let url = "https://mcp.example.com/mcp";
        let http = Some(json!({"timeout": 5, "type": "http", "url": url}));
        assert_eq!(direct_value("npx", &["mcp-remote", url]), http);
        assert_eq!(direct_value("npx", &["-y", "mcp-remote@latest", url, "3334"]), http);
        assert_eq!(direct_value("npx.cmd", &["-y", "mcp-remote@0.1.29", url, "--debug"]), http);
        assert_eq!(
            direct_value("/usr/bin/npx", &["-p", "mcp-remote@latest", "mcp-remote", url]),
            http
        );
        assert_eq!(direct_value("bunx", &["mcp-remote", url]), http);
        assert_eq!(direct_value("pnpm", &["dlx", "mcp-remote", url]), http);
        assert_eq!(direct_value("node", &["/opt/node_modules/.bin/mcp-remote", url]), http);
        assert_eq!(
            direct_value("node", &["/opt/node_modules/mcp-remote/dist/proxy.js", url]),
            http
        );
        assert_eq!(direct_value("cmd", &["/c", "npx", "-y", "mcp-remote", url]), http);
        assert_eq!(direct_value("mcp-remote", &[url]), http);
    }

    #[test]
    fn other_programs_are_left_alone() {
        assert_eq!(direct_value("npx", &["-y", "mcp-remote-desktop", "https://h/"]), None);
        assert_eq!(direct_value("npx", &["-y", "@somebody/mcp-remote", "https://h/"]), None);
        assert_eq!(direct_value("npx", &["-y", "some-server", "https://h/"]), None);
        assert_eq!(direct_value("docker", &["run", "mcp-remote", "https://h/"]), None);
        assert_eq!(direct_value("npx", &["mcp-remote"]), None);
        assert_eq!(direct_value("npx", &["mcp-remote", "ws://h/"]), None);
    }

    #[test]
    fn headers_and_the_transport_come_along() {
        let args = [
            "-y",
            "mcp-remote",
            "https://h/sse",
            "--header",
            "Authorization: Bearer $${TOKEN}",
            "--header=X-A:b",
            "--header=X-B: !id",
            "--transport",
            "http-only",
        ];
        assert_eq!(
            direct_value("npx", &args),
            Some(json!({
                "timeout": 5, "type": "sse", "url": "https://h/sse",
                "headers": {"Authorization": "Bearer ${TOKEN}", "X-A": "b", "X-B": "$!id"},
            }))
        );
        let sse = direct_value("npx", &["mcp-remote", "https://h/x", "--transport", "sse-only"]);
        assert_eq!(sse.expect("a bridge")["type"], "sse");
    }
}
