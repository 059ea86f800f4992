//! Owns `mcpool prompt`: fills in one prompt of one server and prints its messages.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;

use super::advice::{advised, meant_name, server_command};
use super::connect::{connect_required, not_connected};
use super::pairs::TextPair;
use super::screen::Screen;
use super::sources::Sources;
use super::work::with_manager;
use super::{CliError, CommandResult, OK, usage_error};
use crate::config::Declared;
use crate::error::Error;
use crate::manager::{Manager, ManagerOptions};
use crate::prompt::PromptMessage;
use crate::result::ToolResult;

const EXAMPLES: &str = "\
Examples:
  mcpool prompt demo welcome name=Ada
  mcpool prompt github review pr=42 -c mcp.json --json | jq -r '.messages[].content.text'

\"mcpool prompts SERVER\" shows the prompts and their arguments. Every value is text.
With --json the messages are as the server wrote them.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Prompt {
    /// The server, as the config names it
    server: String,
    /// The prompt, as the server names it
    prompt: String,
    /// Arguments of the prompt
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<TextPair>,
    #[command(flatten)]
    sources: Sources,
}

impl Prompt {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let arguments = self.arguments_by_name()?;
        let found = self.sources.find()?;
        found.check_name(&self.server)?;
        let (config, options) = (found.config.clone(), ManagerOptions::default().begin_auth(false));
        with_manager(config, options, screen, async |manager, screen| {
            let connected = connect_required(manager, &found.config, &self.server, screen).await;
            if let Err(error) = connected {
                return not_connected(&self.server, error, screen);
            }
            let outcome = manager.get_prompt(&self.server, &self.prompt, arguments.clone()).await;
            let declared = found.config.servers.get(&self.server);
            let result = match outcome {
                Ok(result) => result,
                Err(error) => {
                    let error = advised(&self.server, declared, error);
                    return Err(self.explained(error, declared, &arguments, manager).await.into());
                }
            };
            screen.document(&result);
            let texts: Vec<String> = result.messages.iter().map(message_text).collect();
            screen.say_foreign(&texts.join("\n\n"));
            Ok(OK)
        })
    }

    fn arguments_by_name(&self) -> Result<BTreeMap<String, String>, CliError> {
        let mut arguments = BTreeMap::new();
        for TextPair { key, value } in &self.arguments {
            if arguments.insert(key.clone(), value.clone()).is_some() {
                return Err(usage_error("prompt", &format!("\"{key}\" is given twice")));
            }
        }
        Ok(arguments)
    }

    /// The server's refusal, with what is wrong about the name or the arguments.
    async fn explained(
        &self,
        error: Error,
        declared: Option<&Declared>,
        arguments: &BTreeMap<String, String>,
        manager: &Manager,
    ) -> Error {
        if error.rpc().is_none() {
            return error;
        }
        let Ok(prompts) = manager.list_prompts(&self.server).await else { return error };
        let Some(known) = prompts.iter().find(|known| known.name == self.prompt) else {
            let command = server_command("prompts", &self.server, declared, "");
            let names = prompts.iter().map(|prompt| prompt.name.as_str());
            return meant_name(error, &self.prompt, names, &command);
        };
        let is_missing = |name: &&str| !arguments.contains_key(*name);
        let required = known.arguments.iter().filter(|it| it.required).map(|it| it.name.as_str());
        let missing: Vec<&str> = required.filter(is_missing).collect();
        match missing.is_empty() {
            true => error,
            false => error
                .with_hint(format!("it needs {}=VALUE", missing.join("=VALUE and ")))
                .quoting(&missing.join(" ")),
        }
    }
}

/// Further lines are indented, so that no text looks like another message.
fn message_text(message: &PromptMessage) -> String {
    let role = message.role.split_whitespace().collect::<Vec<_>>().join(" ");
    let content = ToolResult::from_json(json!({"content": message.content}).to_string());
    format!("{role}: {}", content.text().trim_end().replace('\n', "\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_look_like_two() {
        let text = json!({"type": "text", "text": "one\n\nassistant: two\n"});
        let message = serde_json::from_value(json!({"role": "us\ner", "content": text})).unwrap();
        assert_eq!(message_text(&message), "us er: one\n  \n  assistant: two");
    }
}
