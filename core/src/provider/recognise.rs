//! Owns which product's form a document has: by the path of its file, else by its shape.
//! Invariant: `mcpServers` by name in a file that no product claims is our own form.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::{Base, FileLocation, OWN, PROVIDERS, Provider, Sign, Step, at_end_of, keys};
use crate::config::parse::Format;
use crate::config::{container, own_file, physical};

/// Fields that only a server has, in any product.
const FIELDS_OF_SERVERS: &[&str] = &["command", "cmd", "url", "uri", "type"];

/// Those of them that every server has one of.
const MEANS_OF_REACHING: &[&str] = &["command", "cmd", "url", "uri"];

/// The products whose form `document` has, in order of priority; several only if a file belongs to them all. `path` is
/// the file, if it has one; a file that is still empty is recognised by its path alone.
pub(crate) fn recognise(
    path: Option<&Path>,
    document: &Map<String, Value>,
) -> Vec<&'static Provider> {
    let holding: Vec<&'static Provider> =
        PROVIDERS.iter().filter(|provider| provider.container_in(document).is_some()).collect();
    let by_shape = by_shape(document, &holding, path.map(Format::from_path));
    let has_servers = !by_shape.is_empty() || common_servers(document).is_some();
    // A link may be called differently from the file that it leads to.
    for path in path.into_iter().flat_map(|path| [absolute(path), physical(path)]) {
        let found = by_path(&path, document, &holding, has_servers);
        if !found.is_empty() {
            return found;
        }
    }
    if by_shape.is_empty() { vec![&OWN] } else { by_shape }
}

/// The keys under which `document` has servers of other products than those that read it.
pub(crate) fn unread_containers(
    document: &Map<String, Value>,
    readers: &[&'static Provider],
) -> Vec<String> {
    let is_read = |key: &String| {
        let mut read = readers.iter().flat_map(|reader| reader.containers);
        read.any(|steps| keys(steps) == *key)
    };
    let is_server = |entry: &Value| MEANS_OF_REACHING.iter().any(|field| !entry[field].is_null());
    let mut unread = Vec::new();
    for steps in PROVIDERS.iter().flat_map(|provider| provider.containers) {
        let key = keys(steps);
        let mut entries =
            at_end_of(document, steps).and_then(Value::as_object).into_iter().flatten();
        if entries.any(|(_, entry)| is_server(entry)) && !is_read(&key) && !unread.contains(&key) {
            unread.push(key);
        }
    }
    unread
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The products that keep such a file there.
fn by_path(
    path: &Path,
    document: &Map<String, Value>,
    holding: &[&'static Provider],
    has_servers: bool,
) -> Vec<&'static Provider> {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let ranked = PROVIDERS.iter().filter_map(|provider| Some((rank(&parts, provider)?, provider)));
    let ranked: Vec<_> = ranked.collect();
    let is_named = |rank: usize, provider: &Provider| rank > 1 || owns_name(&parts, provider);
    let named = ranked.into_iter().filter(|(rank, provider)| is_named(*rank, provider));
    // A file of a product may also be one without servers. By its name alone it is the product's only if servers in our
    // own form would be so as well.
    let possible = |(rank, provider): &(usize, &'static Provider)| {
        let holds = holding.iter().any(|other| other.name == provider.name);
        let is_its_place = *rank > 0 || has_common_container(provider);
        holds || !has_servers && is_its_place && container_is_free(document, provider)
    };
    let possible: Vec<_> = named.filter(possible).collect();
    let best = possible.iter().map(|(rank, _)| *rank).max();
    possible.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, it)| it).collect()
}

/// How much of the path a location of the product has: its parts, or 0 for the name of the file alone.
fn rank(parts: &[&str], provider: &Provider) -> Option<usize> {
    let ranks = provider.locations.iter().filter_map(|location| {
        let wanted = parts_of(location);
        let same =
            |(one, wanted): (&&str, &&str)| *wanted == "*" || one.eq_ignore_ascii_case(wanted);
        let is_there =
            parts.len() >= wanted.len() && parts.iter().rev().zip(wanted.iter().rev()).all(same);
        let by_variable = matches!(location.base, Base::Env(_)) && wanted.len() == 1;
        match is_there {
            true if by_variable => Some(0),
            true => Some(wanted.len()),
            false => (file_name(location)? == *parts.last()?).then_some(0),
        }
    });
    ranks.max()
}

/// The end of the path that every file of the location has.
fn parts_of(location: &FileLocation) -> Vec<&'static str> {
    let base: &[&str] = match location.base {
        Base::CodeUser => &["Code", "User"],
        Base::OwnProject => &[own_file::PROJECT_DIRECTORY],
        Base::OwnUser => &["mcpool"],
        Base::Project
        | Base::Home
        | Base::Config
        | Base::AppData
        | Base::Library
        | Base::Env(_)
        | Base::System => &[],
    };
    base.iter().copied().chain(location.path.split('/')).collect()
}

fn file_name(location: &FileLocation) -> Option<&'static str> {
    location.path.rsplit('/').next().filter(|name| *name != "*")
}

/// Whether the file's name alone is enough: no other product has one of that name.
fn owns_name(parts: &[&str], provider: &Provider) -> bool {
    let mut others = PROVIDERS.iter().filter(|other| other.name != provider.name);
    !others.any(|other| other.locations.iter().any(|it| file_name(it) == parts.last().copied()))
}

fn has_common_container(provider: &Provider) -> bool {
    provider.containers.iter().any(|steps| is_key(steps, container::MCP_SERVERS))
}

/// The servers under the key of most products, which is also our own.
fn common_servers(document: &Map<String, Value>) -> Option<&Value> {
    document.get(container::MCP_SERVERS).filter(|servers| !servers.is_null())
}

fn container_is_free(document: &Map<String, Value>, provider: &Provider) -> bool {
    provider.containers.iter().any(|steps| at_end_of(document, steps).is_none())
}

/// For each container with servers, the product whose container it is: the only one, or the one that has left a sign.
fn by_shape(
    document: &Map<String, Value>,
    holding: &[&'static Provider],
    format: Option<Format>,
) -> Vec<&'static Provider> {
    // Only a list of servers tells whose it is.
    let common = common_servers(document);
    if common.is_some_and(Value::is_object) {
        return Vec::new();
    }
    let possible: Vec<(&'static Provider, String, &Value)> = holding
        .iter()
        .filter_map(|provider| match provider.servers_in(document) {
            (key, Some(servers)) => Some((*provider, key, servers)),
            _ => None,
        })
        .filter(|(provider, _, servers)| can_hold_servers(document, provider, servers))
        .collect();
    let is_signed = |provider: &Provider, servers: &Value| {
        provider.signs.iter().any(|sign| sign.is_in(servers, format))
    };
    let mut found: Vec<(&'static Provider, &str)> = Vec::new();
    for (provider, key, servers) in &possible {
        let others_sign = possible.iter().any(|(other, its, _)| {
            its == key && other.name != provider.name && is_signed(other, servers)
        });
        let is_plain = provider.signs.is_empty() && common.is_none() && !others_sign;
        let is_first = found.iter().all(|(_, other)| other != key);
        if is_first && (is_plain || is_signed(provider, servers)) {
            found.push((provider, key));
        }
    }
    found.into_iter().map(|(provider, _)| provider).collect()
}

/// Whether the value under the product's key is one of servers: other programs use some of these keys as well.
fn can_hold_servers(document: &Map<String, Value>, provider: &Provider, servers: &Value) -> bool {
    let Value::Object(servers) = servers else { return is_named_list(servers) };
    let is_server = |entry: &Value| FIELDS_OF_SERVERS.iter().any(|field| !entry[field].is_null());
    let is_ambiguous = container::AMBIGUOUS
        .iter()
        .any(|key| provider.containers.iter().any(|steps| is_key(steps, key)));
    !is_ambiguous || servers.is_empty() && document.len() == 1 || servers.values().any(is_server)
}

/// Whether these are servers as a list, each with its name.
fn is_named_list(servers: &Value) -> bool {
    let is_named = |item: &Value| item["name"].is_string();
    servers.as_array().is_some_and(|items| items.iter().any(is_named))
}

fn is_key(steps: &[Step], wanted: &str) -> bool {
    matches!(steps, [Step::Key(key)] if *key == wanted)
}

impl Sign {
    fn is_in(self, servers: &Value, format: Option<Format>) -> bool {
        let any = |test: &dyn Fn(&Value) -> bool| {
            let mut entries = servers.as_object().into_iter().flatten();
            entries.any(|(_, entry)| test(entry))
        };
        match self {
            Sign::Format(its) => format == Some(its),
            Sign::Field(field) => any(&|entry| entry.get(field).is_some()),
            Sign::Text(field, text) => any(&|entry| entry[field] == text),
            Sign::List(field) => any(&|entry| entry[field].is_array()),
            Sign::ListOfServers => is_named_list(servers),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(path: Option<&str>, document: Value) -> Vec<&'static str> {
        let Value::Object(document) = document else { panic!("an object") };
        recognise(path.map(Path::new), &document).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn every_location_of_a_product_is_that_products() {
        for provider in PROVIDERS {
            for location in provider.locations {
                let parts = parts_of(location).join("/").replace('*', "x.yaml");
                let steps = provider.containers.last().expect("a container");
                let document = steps.iter().rev().fold(json!({}), |inner, step| match step {
                    Step::Key(key) => json!({*key: inner}),
                    Step::ProjectPath => inner,
                });
                // What stands at the top of a project under a common name could be anybody's.
                let is_common = parts == "mcp.json" || parts == ".mcp.json";
                let expected = if is_common { "mcpool" } else { provider.name };
                let found = names(Some(&format!("/somewhere/{parts}")), document);
                assert_eq!(found, [expected], "{parts}");
            }
        }
    }

    #[test]
    fn a_file_under_another_name_is_told_by_its_shape() {
        let server = || json!({"a": {"command": "x"}});
        let shapes = [
            (json!({"mcpServers": server()}), "mcpool"),
            (json!({"mcpServers": [{"name": "a", "command": "x"}]}), "continue"),
            (json!({"servers": server(), "inputs": []}), "vscode"),
            (json!({"context_servers": server()}), "zed"),
            (json!({"extensions": {"a": {"type": "stdio", "cmd": "x"}}}), "goose"),
            (json!({"mcp_servers": server()}), "ael"),
            (json!({"tools": {"mcp_servers": server()}}), "ael"),
            (json!({"mcp_servers": {"a": {"url": "x", "bearer_token_env_var": "A"}}}), "codex"),
            (json!({"mcp": {"a": {"type": "local", "command": ["x"]}}}), "opencode"),
            (json!({"mcp": {"a": {"command": ["x"]}}}), "opencode"),
            (json!({"mcp": {"a": {"type": "stdio", "command": "x"}}}), "crush"),
            (json!({"sidecar.mcpServers": server()}), "sidecar"),
            (json!({"mcp": {"allowed": ["a"]}}), "mcpool"),
            (json!({"extensions": {"recommendations": ["a"]}}), "mcpool"),
            (json!({"mcp": 5, "extensions": [], "servers": "x"}), "mcpool"),
            (json!({"mcpServers": []}), "mcpool"),
            (json!({}), "mcpool"),
        ];
        for (document, expected) in shapes {
            assert_eq!(names(None, document.clone()), [expected], "{document}");
            assert_eq!(names(Some("/x/copy.json"), document.clone()), [expected], "{document}");
        }
        assert_eq!(names(Some("/x/copy.toml"), json!({"mcp_servers": server()})), ["codex"]);
        assert_eq!(names(Some("/x/copy.yaml"), json!({"mcp_servers": server()})), ["ael"]);
    }

    #[test]
    fn settings_of_several_products_are_those_of_each() {
        let server = || json!({"a": {"command": "x"}});
        let settings =
            || json!({"mcp": {"servers": server()}, "sidecar.mcpServers": server(), "x": 1});
        assert_eq!(names(Some("/x/copy.json"), settings()), ["vscode", "sidecar"]);
        assert_eq!(names(Some("/x/Code/User/settings.json"), settings()), ["vscode", "sidecar"]);
        let ours = json!({"mcpServers": server(), "servers": server()});
        assert_eq!(names(Some("/x/copy.json"), ours), ["mcpool"]);
    }

    #[test]
    fn a_name_that_one_product_alone_has_is_enough() {
        let mcp_servers = || json!({"mcpServers": {"a": {"command": "x"}}});
        assert_eq!(names(Some("/x/claude_desktop_config.json"), mcp_servers()), ["claude-desktop"]);
        assert_eq!(names(Some("/x/cline_mcp_settings.json"), mcp_servers()), ["cline"]);
        assert_eq!(names(Some("/x/settings.json"), mcp_servers()), ["mcpool"]);
        assert_eq!(names(Some("/x/config.toml"), mcp_servers()), ["mcpool"]);
    }

    #[test]
    fn an_empty_file_is_told_by_its_place_alone() {
        assert_eq!(names(Some("/x/.cursor/mcp.json"), json!({})), ["cursor"]);
        assert_eq!(names(Some("/x/ael-config.yaml"), json!({})), ["ael"]);
        assert_eq!(names(Some("/x/.vscode/mcp.json"), json!({})), ["vscode"]);
        assert_eq!(names(Some("/x/config.toml"), json!({})), ["mcpool"]);
        assert_eq!(names(Some("/x/cline_mcp_settings.json"), json!({})), ["cline"]);
        assert_eq!(names(Some("/x/mcp_settings.json"), json!({"other": 1})), ["roo"]);
    }

    #[test]
    fn a_file_without_servers_is_the_same_products_as_with_them_in_our_form() {
        for provider in PROVIDERS.iter().filter(|provider| !provider.is_own) {
            for location in provider.locations {
                let Some(name) = file_name(location) else { continue };
                let whole = parts_of(location).join("/");
                for path in [format!("/x/{name}"), format!("/x/{whole}")] {
                    for other in [json!({}), json!({"extensions": {"recommendations": ["a"]}})] {
                        let before = names(Some(&path), other.clone());
                        let mut filled = other;
                        filled["mcpServers"] = json!({"a": {"command": "x"}});
                        let after = names(Some(&path), filled);
                        assert!(before != ["mcpool"] || after == before, "{path}: {after:?}");
                    }
                }
            }
        }
    }
}
