//! Owns `!command` values: the command's output is the value. Concurrent requests share one run; the output is cached
//! for the life of the process.
//! Invariant: no command runs longer than its limit, or after its last waiter is gone.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared, join_all};
use indexmap::IndexMap;

use super::expand::directory;
use super::warnings::Warnings;
use crate::config::{Level, Scope, ServerConfig};
use crate::fork::PerProcess;
use crate::headers::is_framing;
use crate::host_env::HostEnv;
use crate::process::{Program, RunError, run_command};
use crate::redact::Secret;
use crate::sync::lock;

const TIME_LIMIT: Duration = Duration::from_secs(10);
const OUTPUT_LIMIT: usize = 64 << 10;

/// The field of the command that prints headers.
pub(super) const HEADERS_HELPER: &str = "headersHelper";

/// Marks a value as a command.
const MARK: char = '!';

static RUNS: PerProcess<Mutex<HashMap<CommandRequest, Run>>> = PerProcess::new(Mutex::default);

/// The key of a run: equal requests share one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CommandRequest {
    command: String,
    directory: Option<PathBuf>,
    host_env: HostEnv,
}

enum Run {
    Done(Secret),
    UnderWay(WeakShared<Work>),
}

type Work = Pin<Box<dyn Future<Output = Result<Secret, CommandFailure>> + Send>>;

/// Why a command gave no value; never contains its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandFailure {
    Late,
    Failed,
    Empty,
    TooLong,
    Unreadable,
}

impl CommandFailure {
    fn text(self) -> &'static str {
        match self {
            CommandFailure::Late => "its command did not end within 10 s",
            CommandFailure::Failed => "its command failed",
            CommandFailure::Empty => "its command printed nothing",
            CommandFailure::TooLong => "its command printed more than 64 KiB",
            CommandFailure::Unreadable => "its command printed what is no text",
        }
    }
}

/// The command, if the value is one.
pub(super) fn command_of(value: &str) -> Option<&str> {
    value.strip_prefix(MARK)
}

/// Removes the escape of the mark: `$!` is a literal `!`, `$$!` a literal `$!`, and so on.
pub(super) fn without_escape(value: &str) -> &str {
    let marked = value.trim_start_matches('$').starts_with(MARK);
    value.strip_prefix('$').filter(|_| marked).unwrap_or(value)
}

/// The outputs of commands, by field and entry.
pub(super) type CommandOutputs = HashMap<(&'static str, String), Secret>;

/// Runs the commands among the values concurrently.
pub(super) async fn run_commands(config: &ServerConfig, warnings: &mut Warnings) -> CommandOutputs {
    let entries = |field: &'static str, entries: &'_ IndexMap<String, Secret>| -> Vec<_> {
        let sent = entries.iter().filter(|(name, _)| field != "headers" || !is_framing(name));
        sent.filter_map(|(name, value)| {
            Some(((field, name.clone()), command_of(value.expose())?.to_owned()))
        })
        .collect()
    };
    let mut commands = entries("env", config.transport.env());
    if let Some(remote) = config.transport.remote() {
        commands.extend(entries("headers", &remote.headers));
    }
    let helper = config.headers_helper.iter().filter(|_| config.transport.remote().is_some());
    commands.extend(helper.map(|helper| ((HEADERS_HELPER, String::new()), helper.clone())));
    let scope = &config.scope;
    if scope.is_restricted() {
        for (entry, _) in commands {
            warnings.push(&format!(
                "\"{}\" is left out: commands of a project are not run before it is trusted",
                label(&entry)
            ));
        }
        return CommandOutputs::new();
    }
    let runs = commands.into_iter().map(|(entry, command)| {
        let request = CommandRequest::new(&command, scope);
        async move {
            // What a helper prints may expire.
            let output = match entry.0 {
                HEADERS_HELPER => request.run(TIME_LIMIT).await,
                _ => request.output().await,
            };
            (entry, output)
        }
    });
    let mut outputs = CommandOutputs::new();
    for (entry, outcome) in join_all(runs).await {
        match outcome {
            Ok(value) => drop(outputs.insert(entry, value)),
            Err(failure) => {
                warnings.push(&format!("\"{}\" is left out: {}", label(&entry), failure.text()));
            }
        }
    }
    outputs
}

fn label((field, name): &(&'static str, String)) -> String {
    if name.is_empty() { (*field).to_owned() } else { format!("{field}.{name}") }
}

impl CommandRequest {
    fn new(command: &str, scope: &Scope) -> Self {
        // The user's own commands run in the home directory: in a project, `npx` and the like would run the project's
        // code.
        let directory = match scope.level {
            Level::User => scope.host_env.home(),
            Level::Explicit | Level::Project => directory(scope),
        };
        CommandRequest { command: command.to_owned(), directory, host_env: scope.host_env.clone() }
    }

    /// The command's output, from the cache or from a run.
    async fn output(self) -> Result<Secret, CommandFailure> {
        self.output_within(TIME_LIMIT).await
    }

    async fn output_within(self, limit: Duration) -> Result<Secret, CommandFailure> {
        let run = match self.find_or_start(limit) {
            Ok(output) => return Ok(output),
            Err(run) => run,
        };
        run.await
    }

    fn find_or_start(self, limit: Duration) -> Result<Secret, Shared<Work>> {
        let mut runs = lock(RUNS.get());
        match runs.get(&self) {
            Some(Run::Done(output)) => return Ok(output.clone()),
            Some(Run::UnderWay(run)) => {
                if let Some(run) = run.upgrade() {
                    return Err(run);
                }
            }
            None => {}
        }
        let request = self.clone();
        let work: Work = Box::pin(async move {
            let output = request.run(limit).await;
            let mut runs = lock(RUNS.get());
            match &output {
                Ok(output) => runs.insert(request, Run::Done(output.clone())),
                Err(_) => runs.remove(&request),
            };
            output
        });
        let run = work.shared();
        if let Some(weak) = run.downgrade() {
            runs.insert(self, Run::UnderWay(weak));
        }
        Err(run)
    }

    async fn run(&self, limit: Duration) -> Result<Secret, CommandFailure> {
        let env = self.host_env.vars().into_iter().collect();
        let shell = Program::shell(&self.command, env, self.directory.clone());
        let output = tokio::time::timeout(limit, run_command(shell, OUTPUT_LIMIT)).await;
        let output = output.map_err(|_| CommandFailure::Late)?.map_err(|error| match error {
            RunError::NotStarted | RunError::Failed => CommandFailure::Failed,
            RunError::TooLong => CommandFailure::TooLong,
        })?;
        let output = String::from_utf8(output).map_err(|_| CommandFailure::Unreadable)?;
        match output.trim() {
            "" => Err(CommandFailure::Empty),
            output if output.contains('\0') => Err(CommandFailure::Unreadable),
            output => Ok(Secret::new(output)),
        }
    }
}

#[cfg(test)]
mod tests;
