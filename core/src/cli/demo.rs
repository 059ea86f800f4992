//! Owns `mcpool demo`: walks through a whole connection with the built-in demo server.

use std::time::Instant;

use serde_json::{Value, json};

use super::screen::Screen;
use super::status::{self, in_ms};
use super::table::Cell;
use super::terminal::Tint;
use super::tools::ToolJson;
use super::work::with_manager;
use super::{CliError, CommandResult, OK};
use crate::call::{Arguments, CallOptions};
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Events};
use crate::manager::{CacheDir, Manager, ManagerOptions};
use crate::process::kill_process;
use crate::status::State;

const SERVER: &str = "demo";
const INDENT: &str = "   ";
const NEXT: [(&str, &str); 4] = [
    ("mcpool discover", "Finds the servers that your editors and agents already use"),
    ("mcpool tools", "Connects to them and lists their tools"),
    ("mcpool add time -- uvx mcp-server-time", "Adds a server to your own config"),
    ("mcpool doctor", "Says what is wrong with a server, and what to do"),
];

pub(super) fn run(relaunch: &[String], screen: &mut Screen) -> CommandResult {
    let mut words = relaunch.iter().map(String::as_str).chain(["demo-server"]);
    let (command, args) = (words.next(), words.collect::<Vec<_>>());
    // The child is this same program, so it needs the same environment, such as PYTHONPATH.
    let definition = json!({"command": command, "args": args, "inheritEnv": "all"});
    let config = Config::from_value(json!({"mcpServers": {SERVER: definition}}))?;
    // The demo leaves nothing behind, not even in the cache.
    let options = ManagerOptions { cache_dir: CacheDir::Off, ..ManagerOptions::default() };
    with_manager(config, options, screen, call_each_tool)
}

async fn call_each_tool(manager: &Manager, screen: &mut Screen) -> CommandResult {
    screen.say("A small MCP server that ships with mcpool, from its start to its end.");
    let connect = connect(manager, screen).await?;
    let tools = tools(manager, screen);
    let calls = [
        call(manager, screen, "greet", json!({"name": "Ada"})).await?,
        call(manager, screen, "add", json!({"a": 2, "b": 40})).await?,
    ];
    heading(screen, "Status");
    let statuses = manager.status();
    status::print_statuses(screen, INDENT, &statuses);
    let recovery = recover(manager, screen).await?;
    let disconnect = disconnect(manager, screen).await?;
    heading(screen, "Try next");
    let rows = NEXT.map(|(command, what)| vec![Cell::new(Tint::Bold, command), Cell::plain(what)]);
    screen.table(INDENT, &["COMMAND", "WHAT IT DOES"], rows.into());
    screen.document(&json!({
        "connect": connect,
        "tools": tools,
        "calls": calls,
        "status": statuses,
        "recovery": recovery,
        "disconnect": disconnect,
    }));
    Ok(OK)
}

async fn connect(manager: &Manager, screen: &mut Screen) -> Result<Value, CliError> {
    heading(screen, "Connect");
    let started = Instant::now();
    manager.connect(SERVER).await?;
    let ms = ms_since(started);
    let up = screen.paint(Tint::Green, "connected");
    screen.say(format!("{INDENT}{SERVER} {up} in {}", in_ms(ms)));
    Ok(json!({"server": SERVER, "ms": ms}))
}

fn tools(manager: &Manager, screen: &mut Screen) -> Value {
    heading(screen, "Tools, as an agent sees them");
    let catalog = manager.get_tools();
    let rows = catalog.tools().iter().map(|tool| {
        vec![Cell::new(Tint::Bold, &tool.name), Cell::plain(tool.definition.description())]
    });
    screen.table(INDENT, &["NAME", "DESCRIPTION"], rows.collect());
    json!(catalog.tools().iter().map(ToolJson::new).collect::<Vec<_>>())
}

async fn call(
    manager: &Manager,
    screen: &mut Screen,
    tool: &str,
    arguments: Value,
) -> Result<Value, CliError> {
    heading(screen, &format!("Call {tool} {arguments}"));
    let started = Instant::now();
    let sent = Arguments::new(&arguments)?;
    let result = manager.call_tool(SERVER, tool, sent, CallOptions::default()).await?;
    let ms = ms_since(started);
    let (text, structured) = (result.text(), result.structured());
    if result.is_error() {
        return Err(Error::new(ErrorKind::ToolFailed, text).with_server(SERVER).into());
    }
    let (kind, shown) = match &structured {
        Some(value) => ("structured", value.to_string()),
        None => ("text", text.clone()),
    };
    let about = screen.paint(Tint::Dim, format!("({kind}, {})", in_ms(ms)));
    screen.say(format!("{INDENT}{} {about}", screen.paint(Tint::Cyan, shown)));
    Ok(json!({
        "tool": tool,
        "arguments": arguments,
        "text": text,
        "structured": structured,
        "ms": ms,
    }))
}

/// Kills the server and calls it at once: the call waits for the restart.
async fn recover(manager: &Manager, screen: &mut Screen) -> Result<Value, CliError> {
    heading(screen, "Kill the server, and call it at once");
    let killed = manager.status().first().and_then(|status| status.pid);
    let started = Instant::now();
    let mut events = manager.events();
    if let Some(pid) = killed {
        kill_process(pid);
    }
    wait_until_lost(&mut events).await;
    let sent = Arguments::new(&json!({"name": "Grace"}))?;
    let result = manager.call_tool(SERVER, "greet", sent, CallOptions::default()).await?;
    let ms = ms_since(started);
    let answer = screen.paint(Tint::Cyan, result.text());
    let about = screen.paint(Tint::Dim, format!("({} after the kill)", in_ms(ms)));
    screen.say(format!("{INDENT}{answer} {about}"));
    let restarts = manager.status().first().map(|status| status.restarts);
    Ok(json!({"killed": killed, "text": result.text(), "restarts": restarts, "ms": ms}))
}

/// Waits until the loss is noticed: a call that is sent earlier would be lost with the server.
async fn wait_until_lost(events: &mut Events) {
    while let Some(event) = events.next().await {
        if let EventKind::Status { state: State::Reconnecting, .. } = event.kind {
            return;
        }
    }
}

async fn disconnect(manager: &Manager, screen: &mut Screen) -> Result<Value, CliError> {
    heading(screen, "Disconnect");
    let started = Instant::now();
    manager.disconnect(SERVER).await?;
    let ms = ms_since(started);
    screen.say(format!("{INDENT}the server has ended, in {}", in_ms(ms)));
    Ok(json!({"server": SERVER, "ms": ms}))
}

fn heading(screen: &mut Screen, text: &str) {
    let heading = screen.paint(Tint::Bold, text);
    screen.say(format!("\n{heading}"));
}

fn ms_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}
