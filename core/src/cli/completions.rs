//! Owns `mcpool completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use super::screen::Screen;
use super::{CommandLine, CommandResult, OK};

const EXAMPLES: &str = "\
Examples:
  mcpool completions bash > ~/.local/share/bash-completion/completions/mcpool
  mcpool completions zsh > ~/.zfunc/_mcpool
  mcpool completions fish > ~/.config/fish/completions/mcpool.fish";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Completions {
    /// Whose script
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut CommandLine::command(), "mcpool", &mut script);
        let script = String::from_utf8_lossy(&script);
        screen.document(&json!({"shell": self.shell.to_string(), "script": script}));
        screen.say(script.trim_end());
        Ok(OK)
    }
}
