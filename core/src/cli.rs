//! Owns the command line: its commands, its exit codes and how they are dispatched. pip, npm and cargo start this one
//! entry point. Each command has its own file; `screen` writes for all of them, `work` connects and closes.
//! Invariant: a command never writes by itself, never exits by itself, and leaves no server running.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind as UsageKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::error::Error;
use crate::logs;
use crate::oauth::refresh_login;
use crate::relaunch::set_relaunch;

mod add;
mod advice;
mod ask;
mod auth;
mod call;
mod completions;
mod connect;
#[cfg_attr(windows, path = "cli/windows/console.rs")]
mod console;
mod definition_args;
mod demo;
mod demo_server;
mod discover;
mod display;
mod doctor;
mod edit_target;
#[cfg_attr(windows, path = "cli/windows/interrupt.rs")]
mod interrupt;
mod list;
mod listing;
mod pairs;
mod progress;
mod prompt;
mod prompts;
mod read;
mod remove;
mod resources;
mod schema;
mod screen;
mod setting;
mod sources;
mod status;
mod switch;
mod table;
mod terminal;
mod test;
mod tools;
mod trust;
mod update;
mod work;

use screen::Screen;
use terminal::tame;

const OK: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
/// Added to the signal's number for the exit code of an interrupted command.
const SIGNALLED: i32 = 128;

const EXAMPLES: &str = "\
Examples:
  mcpool demo                                  see it work, without a config
  mcpool list                                  the servers that you have already
  mcpool add time -- uvx mcp-server-time       one more
  mcpool tools                                 what can be called
  mcpool call time get_current_time timezone=UTC
  mcpool read files file:///notes.txt          one of its resources
  mcpool auth docs                             sign in to a server that wants it
  mcpool doctor                                what is wrong, and what to do
  mcpool status -c mcp.json --json             of one file, for scripts

Without --config, the servers of every agent product on this machine are found;
\"mcpool discover\" says where each of them comes from.
Exit codes: 0 ok, 1 failed, 2 wrong usage.";

const DEMO_EXAMPLES: &str = "\
Examples:
  mcpool demo
  mcpool demo --json | jq .status

It needs no config and no network.";

/// One pool of MCP connections for every agent
#[derive(Parser)]
#[command(name = "mcpool", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    /// Write one JSON document instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// List the configured servers; starts nothing
    List(list::List),
    /// Connect the servers and show how each of them is
    Status(status::Status),
    /// Connect the servers and list their tools
    Tools(tools::Tools),
    /// Connect one server and call one of its tools
    Call(call::Call),
    /// Connect the servers and list their resources
    Resources(resources::Resources),
    /// Connect one server and read one of its resources
    Read(read::Read),
    /// Connect the servers and list their prompts
    Prompts(prompts::Prompts),
    /// Connect one server and fill in one of its prompts
    Prompt(prompt::Prompt),
    /// Add a server to a config file
    Add(add::Add),
    /// Change a server in a config file
    Update(update::Update),
    /// Remove a server from a config file
    Remove(remove::Remove),
    /// Switch a server on
    Enable(switch::Enable),
    /// Switch a server off
    Disable(switch::Disable),
    /// Connect one server and say how that went
    Test(test::Test),
    /// Sign in to a server
    Auth(auth::Auth),
    /// Sign in to a server anew
    Reauth(auth::Reauth),
    /// Sign out of a server
    Unauth(auth::Unauth),
    /// Let a project's config file start programs
    Trust(trust::Trust),
    /// Show which config files are there and which of them wins
    Discover(discover::Discover),
    /// Check everything, and say what to do about it
    Doctor(doctor::Doctor),
    /// Print the JSON Schema of config files
    Schema(schema::Schema),
    /// Start a small server that ships inside, call its tools, close it
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
    /// Print a script that completes these commands in a shell
    Completions(completions::Completions),
    /// The server of the demo, on standard input and output
    #[command(hide = true)]
    DemoServer,
    /// Refreshes a login for another process, which may be killed meanwhile
    #[command(hide = true)]
    RefreshLogin,
}

/// Why a command was aborted.
enum CliError {
    /// Wrong arguments.
    Usage(Box<clap::Error>),
    Error(Error),
    /// The number of the signal that interrupted it.
    Interrupted(i32),
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        CliError::Error(error)
    }
}

/// The exit code, or why the command was aborted.
type CommandResult = Result<i32, CliError>;

/// Runs the command line with arguments that may not be UTF-8.
pub fn run_os(args: Vec<OsString>, relaunch: Vec<String>) -> i32 {
    // A lossy conversion would name another file, or end up in a config.
    match args.into_iter().map(OsString::into_string).collect() {
        Ok(args) => run(args, relaunch),
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "error: an argument is not UTF-8");
            USAGE
        }
    }
}

/// Runs the command line and returns its exit code. `args` exclude the program's name. `relaunch` is the program, with
/// leading arguments, that starts this same command line again.
pub fn run(args: Vec<String>, relaunch: Vec<String>) -> i32 {
    logs::to_stderr_if_asked();
    set_relaunch(relaunch.clone());
    let for_programs = args.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let words = std::iter::once("mcpool".to_owned()).chain(args);
    let line = match CommandLine::try_parse_from(words) {
        Ok(line) => line,
        Err(error) => return print_usage(&error, Screen::new(for_programs)),
    };
    let mut screen = Screen::new(line.json);
    let ended = match line.command {
        Command::List(list) => list.run(&mut screen),
        Command::Status(status) => status.run(&mut screen),
        Command::Tools(tools) => tools.run(&mut screen),
        Command::Call(call) => call.run(&mut screen),
        Command::Resources(resources) => resources.run(&mut screen),
        Command::Read(read) => read.run(&mut screen),
        Command::Prompts(prompts) => prompts.run(&mut screen),
        Command::Prompt(prompt) => prompt.run(&mut screen),
        Command::Add(add) => add.run(&mut screen),
        Command::Update(update) => update.run(&mut screen),
        Command::Remove(remove) => remove.run(&mut screen),
        Command::Enable(enable) => enable.run(&mut screen),
        Command::Disable(disable) => disable.run(&mut screen),
        Command::Test(test) => test.run(&mut screen),
        Command::Auth(auth) => auth.run(&mut screen),
        Command::Reauth(reauth) => reauth.run(&mut screen),
        Command::Unauth(unauth) => unauth.run(&mut screen),
        Command::Trust(trust) => trust.run(&mut screen),
        Command::Discover(discover) => discover.run(&mut screen),
        Command::Doctor(doctor) => doctor.run(&mut screen),
        Command::Schema(schema) => schema.run(&mut screen),
        Command::Demo => demo::run(&relaunch, &mut screen),
        Command::Completions(completions) => completions.run(&mut screen),
        Command::DemoServer => return demo_server::serve(),
        Command::RefreshLogin => return refresh_login(),
    };
    let code = match ended {
        Ok(code) => code,
        Err(CliError::Usage(error)) => return print_usage(&error, screen),
        Err(CliError::Interrupted(signal)) => SIGNALLED + signal,
        Err(CliError::Error(error)) => {
            screen.fail(&error);
            FAILED
        }
    };
    screen.close(code)
}

/// Help and version come this way too, with exit code 0.
fn print_usage(error: &clap::Error, mut screen: Screen) -> i32 {
    if error.use_stderr() && screen.is_for_programs() {
        let rendered = error.render().to_string();
        let (message, usage) = message_and_usage(&rendered);
        screen.misuse(message, usage);
        return screen.close(error.exit_code());
    }
    // A closed pipe is no failure.
    let _ = error.print();
    error.exit_code()
}

/// What is wrong, and the tips and the usage behind it. clap has this only as one text.
fn message_and_usage(rendered: &str) -> (&str, &str) {
    let text = rendered.strip_prefix("error: ").unwrap_or(rendered);
    let (message, usage) = text.split_once("\n\n").unwrap_or((text, ""));
    (message.trim(), usage.trim())
}

/// A usage error of `command` that clap cannot see by itself.
fn usage_error(command: &str, problem: &str) -> CliError {
    let mut line = CommandLine::command();
    line.build();
    let command = line.find_subcommand_mut(command).expect("it is in the list above");
    CliError::Usage(Box::new(command.error(UsageKind::ValueValidation, tame(problem))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(error: &clap::Error) -> (String, String) {
        let rendered = error.render().to_string();
        let (message, usage) = message_and_usage(&rendered);
        (message.to_owned(), usage.to_owned())
    }

    #[test]
    fn the_text_of_clap_is_split_into_a_message_and_the_usage() {
        let misspelt = CommandLine::try_parse_from(["mcpool", "tols"]).err().expect("no command");
        let (message, usage) = split(&misspelt);
        assert_eq!(message, "unrecognized subcommand 'tols'");
        assert!(usage.contains("'tools'") && usage.contains("\n\nUsage: mcpool"), "{usage}");

        let CliError::Usage(ours) = usage_error("call", "The number is odd") else {
            panic!("a usage error")
        };
        let (message, usage) = split(&ours);
        assert_eq!(message, "The number is odd");
        assert!(usage.starts_with("Usage: mcpool call"), "{usage}");
    }
}
