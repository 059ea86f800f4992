//! Owns `mcpool add` as a conversation: asks for what the arguments do not say, shows what will be written, and tests it.
//! Invariant: nothing is started before the person has seen it and agreed; an end of input is a refusal.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{Add, canonical};
use crate::cli::ask::{answer, is_yes};
use crate::cli::definition_args::{TransportArg, is_socket};
use crate::cli::display::short_path;
use crate::cli::edit_target::ScopeArg;
use crate::cli::screen::Screen;
use crate::cli::terminal::Tint;
use crate::cli::test::test_server;
use crate::cli::{CliError, OK, usage_error};
use crate::config::{Config, check_name};
use crate::edit;

/// Whether a person can be asked.
pub(super) fn is_possible(screen: &Screen) -> bool {
    !screen.is_for_programs() && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Completes the arguments and tests the server. Returns whether to write it.
pub(super) fn ask(add: &mut Add, screen: &mut Screen) -> Result<bool, CliError> {
    Ok(ask_all(add, screen)? && confirm_and_test(add, screen)?)
}

/// Asks for what is missing; false at the end of input.
fn ask_all(add: &mut Add, screen: &Screen) -> Result<bool, CliError> {
    if !ask_name(add, screen)? || !ask_target(add, screen)? {
        return Ok(false);
    }
    if add.server.url.is_some() || !add.server.command.is_empty() {
        return Ok(true);
    }
    let Some(transport) = ask_transport(add, screen) else { return Ok(false) };
    match transport {
        TransportArg::Stdio => ask_program(add, screen),
        transport => ask_address(add, transport, screen),
    }
}

fn ask_name(add: &mut Add, screen: &Screen) -> Result<bool, CliError> {
    if let Some(name) = &add.name {
        check_name(name)?;
        return Ok(true);
    }
    while let Some(name) = answer("Name:") {
        match check_name(&name) {
            Ok(()) => {
                add.name = Some(name);
                return Ok(true);
            }
            Err(error) => screen.trouble("Error:", &error),
        }
    }
    Ok(false)
}

fn ask_target(add: &mut Add, screen: &Screen) -> Result<bool, CliError> {
    while add.target.selected()?.is_none() {
        let Some(place) = answer("Where: user, project, or a file [user]:") else {
            return Ok(false);
        };
        match place.as_str() {
            "" | "user" => add.target.scope = Some(ScopeArg::User),
            "project" => add.target.scope = Some(ScopeArg::Project),
            file if Path::new(file).is_dir() => {
                screen.note(Tint::Red, "Error:", &format!("{file} is a directory, not a file"));
            }
            file => add.target.file = Some(PathBuf::from(file)),
        }
    }
    // Before the other questions, whose answers would be lost.
    edit::check_absent(
        &add.target.selected_or_user_file()?,
        add.name.as_deref().unwrap_or_default(),
    )?;
    Ok(true)
}

fn ask_transport(add: &Add, screen: &Screen) -> Option<TransportArg> {
    if let Some(transport) = add.server.transport {
        return Some(transport);
    }
    loop {
        let answer = answer("Transport: stdio (a program), http, sse or websocket [stdio]:")?;
        if answer.is_empty() {
            return Some(TransportArg::Stdio);
        }
        match TransportArg::from_str(&answer, true) {
            Ok(transport) => return Some(transport),
            Err(_) => screen.note(Tint::Red, "Error:", "write stdio, http, sse or websocket"),
        }
    }
}

/// The program and its variables; false at the end of input.
fn ask_program(add: &mut Add, screen: &Screen) -> Result<bool, CliError> {
    let is_answered =
        ask_until_valid(
            add,
            "Command, with its arguments:",
            screen,
            |add, line| match shlex::split(line) {
                Some(words) if !words.is_empty() => {
                    add.server.command = words;
                    Ok(())
                }
                Some(_) => Err("write the program and its arguments".to_owned()),
                None => Err("a quote is not closed".to_owned()),
            },
        );
    if !is_answered {
        return Ok(false);
    }
    preview(add)?;
    Ok(ask_list(add, "Variable, as NAME=value (empty: no more):", screen, |add| {
        &mut add.server.env
    }))
}

/// The URL and its headers; false at the end of input.
fn ask_address(add: &mut Add, transport: TransportArg, screen: &Screen) -> Result<bool, CliError> {
    let is_answered = ask_until_valid(add, "URL:", screen, |add, line| {
        let is_plain_http = transport == TransportArg::Http && add.server.transport.is_none();
        if !(is_plain_http && is_socket(line)) {
            add.server.transport = Some(transport);
        }
        add.server.url = Some(line.to_owned());
        Ok(())
    });
    if !is_answered {
        return Ok(false);
    }
    preview(add)?;
    Ok(ask_list(add, "Header, as Name: value (empty: no more):", screen, |add| {
        &mut add.server.headers
    }))
}

/// Asks until the answer gives a valid definition; false at the end of input.
fn ask_until_valid(
    add: &mut Add,
    question: &str,
    screen: &Screen,
    take: impl Fn(&mut Add, &str) -> Result<(), String>,
) -> bool {
    while let Some(line) = answer(question) {
        match take(add, &line).and_then(|()| problem(add)) {
            Ok(()) => return true,
            Err(problem) => screen.note(Tint::Red, "Error:", &problem),
        }
    }
    false
}

/// Asks for entries up to an empty answer; false at the end of input.
fn ask_list(
    add: &mut Add,
    question: &str,
    screen: &Screen,
    list: impl Fn(&mut Add) -> &mut Vec<String>,
) -> bool {
    while let Some(line) = answer(question) {
        if line.is_empty() {
            return true;
        }
        list(add).push(line);
        let refusal = match problem(add) {
            Ok(()) => preview(add).err().map(|error| error.message().to_owned()),
            Err(problem) => Some(problem),
        };
        if let Some(refusal) = refusal {
            screen.note(Tint::Red, "Error:", &refusal);
            list(add).pop();
        }
    }
    false
}

/// What is wrong with the definition so far.
fn problem(add: &Add) -> Result<(), String> {
    draft(add).map(drop)
}

/// The definition as a config of its own, or what is wrong with it.
fn draft(add: &Add) -> Result<Config, String> {
    let name = add.name.as_deref().unwrap_or_default();
    let document = json!({"mcpServers": {name: add.definition()?}});
    let config = Config::from_value(document).map_err(|error| error.message().to_owned())?;
    match config.servers.get(name).map(|declared| &declared.config) {
        Some(Err(error)) => Err(error.message().to_owned()),
        _ => Ok(config),
    }
}

/// What would be written for the server, in the words of the file and redacted, or why it cannot be. What the file's
/// product cannot say is refused before the person answers more.
fn preview(add: &Add) -> crate::error::Result<Value> {
    let name = add.name.as_deref().unwrap_or_default();
    let definition = add.definition().unwrap_or_default();
    let target = add.target.selected_or_user_file()?;
    edit::preview_of_add(&target, name, Value::Object(definition.clone()))?;
    let redacted = canonical(name, definition);
    Ok(edit::preview_of_add(&target, name, redacted.clone()).unwrap_or(redacted))
}

/// Shows the definition, connects the server once, and returns whether to write it.
fn confirm_and_test(add: &Add, screen: &mut Screen) -> Result<bool, CliError> {
    let wrong = |problem: String| usage_error("add", &problem);
    let config = draft(add).map_err(wrong)?;
    let shown = preview(add)?;
    let name = add.name.as_deref().unwrap_or_default();
    let path = add.target.selected_or_user_file()?.path()?.display().to_string();
    screen.note(Tint::Bold, "This goes into", &format!("{}:", short_path(&path)));
    let shown = serde_json::to_string_pretty(&json!({ name: shown })).unwrap_or_default();
    screen.say_foreign(&shown);
    if add.disabled {
        return Ok(is_yes("Add it? [Y/n]", true));
    }
    if !is_yes("Connect it once, and add it? [Y/n]", true) {
        return Ok(false);
    }
    let is_connected = test_server(&config, name, screen)? == OK;
    Ok(is_connected || is_yes("Add it anyway? [y/N]", false))
}
