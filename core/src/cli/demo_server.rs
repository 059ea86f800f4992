//! Owns the small MCP server behind `mcpool demo`: JSON-RPC lines over stdio, one at a time, until the input ends. It
//! shares no code with the client, so that the demo shows a real conversation.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, Write};

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::time;
use crate::time::now_ms;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const RESOURCE_NOT_FOUND: i64 = -32002;

const ABOUT: &str = "demo://about";
const ABOUT_TEXT: &str = "A small MCP server that comes with mcpool.";
const SKILL: &str = "skill://dice-games/SKILL.md";
const SKILL_TEXT: &str = "---
name: dice-games
description: Plays games with dice
---
Roll two dice with the tool `roll`. The higher one wins.
";

type RpcResult = Result<Value, (i64, String)>;

/// Serves until the input ends; returns the exit code.
pub(super) fn serve() -> i32 {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        let Ok(line) = line else { break };
        let Some(reply) = reply(&line) else { continue };
        if writeln!(output, "{reply}").and_then(|()| output.flush()).is_err() {
            break;
        }
    }
    super::OK
}

/// The response line; notifications and blank lines have none.
fn reply(line: &[u8]) -> Option<Value> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let (id, answer) = match serde_json::from_slice::<Value>(line) {
        Err(error) => (Value::Null, Err((PARSE_ERROR, error.to_string()))),
        Ok(message) if !message.is_object() => {
            (Value::Null, Err((INVALID_REQUEST, "expected one request object".to_owned())))
        }
        Ok(message) => {
            let (id, method) = (message.get("id")?.clone(), message["method"].as_str()?);
            (id, dispatch(method, &message["params"]))
        }
    };
    Some(match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    })
}

fn dispatch(method: &str, params: &Value) -> RpcResult {
    match method {
        "initialize" => Ok(initialize(&params["protocolVersion"])),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools()})),
        "tools/call" => call(params["name"].as_str().unwrap_or_default(), &params["arguments"]),
        "resources/list" => Ok(json!({"resources": [about()]})),
        "resources/read" => match params["uri"].as_str() {
            Some(ABOUT) => Ok(
                json!({"contents": [{"uri": ABOUT, "mimeType": "text/plain", "text": ABOUT_TEXT}]}),
            ),
            Some(SKILL) => Ok(
                json!({"contents": [{"uri": SKILL, "mimeType": "text/markdown", "text": SKILL_TEXT}]}),
            ),
            uri => {
                Err((RESOURCE_NOT_FOUND, format!("Unknown resource: {}", uri.unwrap_or_default())))
            }
        },
        "prompts/list" => Ok(json!({"prompts": [welcome()]})),
        "prompts/get" => prompt(params),
        "skills/list" => Ok(json!({"skills": [dice_games()]})),
        _ => Err((METHOD_NOT_FOUND, format!("Method not found: {method}"))),
    }
}

fn initialize(asked: &Value) -> Value {
    let mut known = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|known| known.has_initialize());
    let agreed = known.find(|known| asked == known.as_str());
    json!({
        "protocolVersion": agreed.unwrap_or(&ProtocolVersion::LATEST_WITH_INITIALIZE).as_str(),
        "capabilities": {
            "tools": {},
            "resources": {},
            "prompts": {},
            "extensions": {"io.modelcontextprotocol/skills": {}},
        },
        "serverInfo": {"name": "mcpool-demo", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn about() -> Value {
    json!({"uri": ABOUT, "name": "about", "description": "What this server is", "mimeType": "text/plain"})
}

fn dice_games() -> Value {
    let digest = format!("sha256:{:x}", Sha256::digest(SKILL_TEXT));
    json!({
        "uri": SKILL,
        "frontmatter": {"name": "dice-games", "description": "Plays games with dice"},
        "resources": [{"uri": SKILL, "digest": digest, "size": SKILL_TEXT.len()}],
    })
}

fn welcome() -> Value {
    let name = json!({"name": "name", "description": "Who is welcomed", "required": true});
    json!({"name": "welcome", "description": "Welcomes somebody", "arguments": [name]})
}

fn prompt(params: &Value) -> RpcResult {
    match (params["name"].as_str(), params["arguments"]["name"].as_str()) {
        (Some("welcome"), Some(name)) => {
            let text = format!("Write a short, warm welcome for {name}.");
            let message = json!({"role": "user", "content": {"type": "text", "text": text}});
            Ok(json!({"description": "Welcomes somebody", "messages": [message]}))
        }
        (Some("welcome"), None) => Err((INVALID_PARAMS, "name must be a string".to_owned())),
        (name, _) => Err((INVALID_PARAMS, format!("Unknown prompt: {}", name.unwrap_or_default()))),
    }
}

fn tools() -> Value {
    let tool = |name: &str, description: &str, properties: Value, required: Value| {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let hints = json!({"readOnlyHint": true});
        json!({"name": name, "description": description, "inputSchema": schema, "annotations": hints})
    };
    let number = json!({"type": "number"});
    let mut add =
        tool("add", "Adds two numbers", json!({"a": number, "b": number}), json!(["a", "b"]));
    add["outputSchema"] =
        json!({"type": "object", "properties": {"sum": number}, "required": ["sum"]});
    let sides = json!({"type": "integer", "minimum": 2, "default": 6});
    json!([
        tool(
            "greet",
            "Greets somebody by name",
            json!({"name": {"type": "string"}}),
            json!(["name"])
        ),
        add,
        tool("now", "Tells the time in UTC", json!({}), json!([])),
        tool("roll", "Rolls a die", json!({"sides": sides}), json!([])),
    ])
}

fn call(tool: &str, arguments: &Value) -> RpcResult {
    Ok(match tool {
        "greet" => match arguments["name"].as_str() {
            Some(name) => text(format!("Hello, {name}!")),
            None => tool_error("name must be a string"),
        },
        "add" => match sum(&arguments["a"], &arguments["b"]) {
            Some(sum) => {
                let sum = json!({"sum": sum});
                json!({"content": [{"type": "text", "text": sum.to_string()}], "structuredContent": sum})
            }
            None => tool_error("a and b must be numbers"),
        },
        "now" => text(time::rfc3339(now_ms())),
        "roll" => match arguments.get("sides").map_or(Some(6), Value::as_u64) {
            // Each `RandomState` has random keys, so hashing nothing gives a random number.
            Some(sides @ 2..) => text((RandomState::new().hash_one(()) % sides + 1).to_string()),
            _ => tool_error("sides must be a whole number above 1"),
        },
        _ => return Err((INVALID_PARAMS, format!("Unknown tool: {tool}"))),
    })
}

fn sum(a: &Value, b: &Value) -> Option<Value> {
    let whole = a.as_i64().zip(b.as_i64()).and_then(|(a, b)| a.checked_add(b));
    whole.map(Value::from).or_else(|| Some(json!(a.as_f64()? + b.as_f64()?)))
}

fn text(text: String) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A mistake that a model can correct is a result, not a protocol error.
fn tool_error(what: &str) -> Value {
    json!({"content": [{"type": "text", "text": what}], "isError": true})
}
