//! Owns `!command` values: what the command prints is the value. Who needs the same one at the same time shares one
//! run; what it said is kept as long as the process.
//! Invariant: no command runs longer than its limit, nor after the last who waits for it is gone.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};

use super::expand::directory;
use crate::config::{Level, Scope};
use crate::fork::PerProcess;
use crate::host_env::HostEnv;
use crate::process::{Program, RunError, run_command};
use crate::redact::Secret;
use crate::sync::lock;

const TIME_LIMIT: Duration = Duration::from_secs(10);
const OUTPUT_LIMIT: usize = 64 << 10;

/// What marks a value as a command.
const MARK: char = '!';

static RUNS: PerProcess<Mutex<HashMap<CommandRequest, Run>>> = PerProcess::new(Mutex::default);

/// What makes two runs the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct CommandRequest {
    command: String,
    directory: Option<PathBuf>,
    host_env: HostEnv,
}

enum Run {
    Said(Secret),
    UnderWay(WeakShared<Work>),
}

type Work = Pin<Box<dyn Future<Output = Result<Secret, Silence>> + Send>>;

/// Why a command gave no value; never what it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    Late,
    Failed,
    Empty,
    TooLong,
    Unreadable,
}

impl Silence {
    pub(super) fn text(self) -> &'static str {
        match self {
            Silence::Late => "its command did not end within 10 s",
            Silence::Failed => "its command failed",
            Silence::Empty => "its command printed nothing",
            Silence::TooLong => "its command printed more than 64 KiB",
            Silence::Unreadable => "its command printed what is no text",
        }
    }
}

/// The command, where the value is one.
pub(super) fn command_of(value: &str) -> Option<&str> {
    value.strip_prefix(MARK)
}

/// The value without the escape of its mark: `$!` is a literal `!`, `$$!` a literal `$!`, and so on.
pub(super) fn without_escape(value: &str) -> &str {
    let marked = value.trim_start_matches('$').starts_with(MARK);
    value.strip_prefix('$').filter(|_| marked).unwrap_or(value)
}

impl CommandRequest {
    pub(super) fn new(command: &str, scope: &Scope) -> Self {
        // The user's own commands run at home: in a project, `npx` and its like would run what the project brings.
        let directory = match scope.level {
            Level::User => scope.host_env.home(),
            Level::Explicit | Level::Project => directory(scope),
        };
        CommandRequest { command: command.to_owned(), directory, host_env: scope.host_env.clone() }
    }

    /// What the command says now, or said when it was last asked.
    pub(super) async fn ask(self) -> Result<Secret, Silence> {
        self.ask_within(TIME_LIMIT).await
    }

    async fn ask_within(self, limit: Duration) -> Result<Secret, Silence> {
        let run = match self.find_or_begin(limit) {
            Ok(said) => return Ok(said),
            Err(run) => run,
        };
        run.await
    }

    fn find_or_begin(self, limit: Duration) -> Result<Secret, Shared<Work>> {
        let mut runs = lock(RUNS.get());
        match runs.get(&self) {
            Some(Run::Said(said)) => return Ok(said.clone()),
            Some(Run::UnderWay(run)) => {
                if let Some(run) = run.upgrade() {
                    return Err(run);
                }
            }
            None => {}
        }
        let request = self.clone();
        let work: Work = Box::pin(async move {
            let said = request.run(limit).await;
            let mut runs = lock(RUNS.get());
            match &said {
                Ok(said) => runs.insert(request, Run::Said(said.clone())),
                Err(_) => runs.remove(&request),
            };
            said
        });
        let run = work.shared();
        if let Some(weak) = run.downgrade() {
            runs.insert(self, Run::UnderWay(weak));
        }
        Err(run)
    }

    async fn run(&self, limit: Duration) -> Result<Secret, Silence> {
        let shell = Program {
            path: "/bin/sh".into(),
            args: vec!["-c".to_owned(), self.command.clone()],
            env: self.host_env.vars().into_iter().collect(),
            cwd: self.directory.clone(),
        };
        let heard = tokio::time::timeout(limit, run_command(shell, OUTPUT_LIMIT)).await;
        let said = heard.map_err(|_| Silence::Late)?.map_err(|unheard| match unheard {
            RunError::NotStarted | RunError::Failed => Silence::Failed,
            RunError::TooLong => Silence::TooLong,
        })?;
        let said = String::from_utf8(said).map_err(|_| Silence::Unreadable)?;
        match said.trim() {
            "" => Err(Silence::Empty),
            said if said.contains('\0') => Err(Silence::Unreadable),
            said => Ok(Secret::new(said)),
        }
    }
}

#[cfg(test)]
mod tests;
