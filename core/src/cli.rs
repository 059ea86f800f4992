//! Owns the command line: its words, its exit codes, and which command does the work. pip, npm and cargo start this
//! one; each command has a file of its own, `screen` writes for all of them.
//! Invariant: a command never writes by itself, never exits by itself, and leaves no server behind.

use clap::error::ErrorKind as UsageKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::config::Config;
use crate::error::Error;
use crate::logs;
use crate::manager::{Manager, ManagerOptions};
use crate::runtime;

mod call;
mod config_file;
mod connect;
mod demo;
mod demo_server;
mod pairs;
mod screen;
mod status;
mod table;
mod terminal;
mod tools;

use screen::Screen;
use terminal::tame;

const OK: i32 = 0;
const FAILED: i32 = 1;

const EXAMPLES: &str = "\
Examples:
  mcpool demo                                    see it work, without a config
  mcpool tools -c mcp.json                       what can be called
  mcpool call -c mcp.json time convert tz=UTC    call one tool
  mcpool status -c mcp.json --json               for scripts

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
    /// Start a small server that ships inside, call its tools, close it
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
    /// Connect the servers and list their tools
    Tools(tools::Tools),
    /// Connect one server and call one of its tools
    Call(call::Call),
    /// Connect the servers and show how each of them is
    Status(status::Status),
    /// The server of the demo, on standard input and output
    #[command(hide = true)]
    DemoServer,
}

/// Why a command ended before its end.
enum Failure {
    /// The words on the command line, whatever the servers do.
    Usage(Box<clap::Error>),
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

/// The exit code, or why there was no regular end.
type Ended = Result<i32, Failure>;

/// Runs the command line and gives its exit code. `args` come without the program's name; `restart` is the program,
/// with leading arguments, that starts this same command line again.
pub fn run(args: Vec<String>, restart: Vec<String>) -> i32 {
    logs::to_stderr_if_asked();
    let words = std::iter::once("mcpool".to_owned()).chain(args);
    let line = match CommandLine::try_parse_from(words) {
        Ok(line) => line,
        Err(error) => return tell_usage(&error),
    };
    let mut screen = Screen::new(line.json);
    let ended = match line.command {
        Command::Demo => demo::run(&restart, &mut screen),
        Command::Tools(tools) => tools.run(&mut screen),
        Command::Call(call) => call.run(&mut screen),
        Command::Status(status) => status.run(&mut screen),
        Command::DemoServer => return demo_server::serve(),
    };
    let code = match ended {
        Ok(code) => code,
        Err(Failure::Usage(error)) => tell_usage(&error),
        Err(Failure::Error(error)) => {
            screen.fail(&error);
            FAILED
        }
    };
    screen.close(code)
}

/// Help and version come this way too, with exit code 0.
fn tell_usage(error: &clap::Error) -> i32 {
    // A closed pipe has had enough.
    let _ = error.print();
    error.exit_code()
}

/// A mistake in the words of `command` that only shows once their meaning is known.
fn misused(command: &str, problem: &str) -> Failure {
    let mut line = CommandLine::command();
    line.build();
    let command = line.find_subcommand_mut(command).expect("it is in the list above");
    Failure::Usage(Box::new(command.error(UsageKind::ValueValidation, tame(problem))))
}

/// Works with a manager and closes it, however the work ends.
fn with_manager(
    config: Config,
    screen: &mut Screen,
    work: impl AsyncFnOnce(&Manager, &mut Screen) -> Ended,
) -> Ended {
    with_options(config, ManagerOptions::default(), screen, work)
}

fn with_options(
    config: Config,
    options: ManagerOptions,
    screen: &mut Screen,
    work: impl AsyncFnOnce(&Manager, &mut Screen) -> Ended,
) -> Ended {
    let manager = Manager::new(config, options);
    runtime::block_on(async {
        let ended = work(&manager, screen).await;
        manager.close().await;
        ended
    })
}
