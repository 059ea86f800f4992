//! Owns what `mcpool resources` and `mcpool prompts` share: connect the servers, ask each of them, print the answers.
//! Invariant: a server that does not answer is reported, and the others are listed.

use clap::Args;
use futures_util::future::join_all;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value};

use super::CommandResult;
use super::advice::advised;
use super::connect::{Connected, connect};
use super::screen::Screen;
use super::sources::{FoundServers, Sources};
use super::status::NO_GATE;
use super::work::{with_manager, without_restarts};
use crate::error::{Error, Result};
use crate::manager::{Manager, ManagerOptions};

#[derive(Args)]
pub(super) struct Listing {
    /// Connect only this server
    server: Option<String>,
    /// Exit with 0 although some servers failed
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    sources: Sources,
}

/// What every server answered, by its name.
pub(super) type Answers<T> = Vec<(String, T)>;

impl Listing {
    /// `what` is the name of what is listed. `ask` asks one server, `to_lists` makes the members of the JSON document,
    /// and `print` prints for people.
    pub(super) fn run<T>(
        self,
        what: &str,
        screen: &mut Screen,
        ask: impl AsyncFn(&Manager, &str) -> Result<T>,
        to_lists: impl FnOnce(&Answers<T>) -> Map<String, Value>,
        print: impl FnOnce(&Answers<T>, &mut Screen),
    ) -> CommandResult {
        let found = self.sources.find()?;
        let config = without_restarts(found.config.clone());
        let options = ManagerOptions::default().begin_auth(false);
        let options = ManagerOptions { gate: NO_GATE, ..options };
        with_manager(config, options, screen, async |manager, screen| {
            let mut connected = connect(manager, &found, self.server.as_deref(), screen).await?;
            let answers = ask_each(manager, &found, &mut connected, what, screen, ask).await;
            // The only server that was asked for is needed.
            connected.is_required_missing |= self.server.is_some() && answers.is_empty();
            screen.document(&ListingDocument {
                lists: to_lists(&answers),
                failed: &connected.failed,
                blocked: &connected.blocked,
                warnings: &manager.warnings(),
            });
            match found.config.servers.is_empty() {
                true => found.print_no_servers(screen),
                false => print(&answers, screen),
            }
            connected.print_summary(screen);
            Ok(connected.exit_code(self.partial))
        })
    }
}

/// Asks all servers at once; the answers are in the order of the config.
async fn ask_each<T>(
    manager: &Manager,
    found: &FoundServers,
    connected: &mut Connected,
    what: &str,
    screen: &Screen,
    ask: impl AsyncFn(&Manager, &str) -> Result<T>,
) -> Answers<T> {
    let servers = connected.askable_servers(&found.config);
    screen.waiting_for(&format!("asking for the {what}"));
    let outcomes = join_all(servers.iter().map(|server| ask(manager, server))).await;
    screen.waiting_for("");
    let mut answers = Vec::new();
    for (server, outcome) in servers.into_iter().zip(outcomes) {
        match outcome {
            Ok(answer) => answers.push((server, answer)),
            Err(error) => {
                let error = advised(&server, found.config.servers.get(&server), error);
                let head = format!("Failed to list the {what} of \"{server}\":");
                connected.add_failure(server, &head, error, screen);
            }
        }
    }
    answers
}

#[derive(Serialize)]
struct ListingDocument<'a> {
    #[serde(flatten)]
    lists: Map<String, Value>,
    failed: &'a IndexMap<String, Error>,
    blocked: &'a IndexMap<String, Error>,
    warnings: &'a [String],
}

/// Entries as their servers wrote them, each with its server. A member `server` of an entry is replaced.
pub(super) fn with_servers<'a, T: Serialize + 'a>(
    entries: impl Iterator<Item = (&'a String, &'a T)>,
) -> Value {
    let with_server = |(server, entry): (&String, &T)| {
        let mut fields = Map::from_iter([("server".to_owned(), server.as_str().into())]);
        if let Ok(Value::Object(mut own)) = serde_json::to_value(entry) {
            own.remove("server");
            fields.extend(own);
        }
        Value::Object(fields)
    };
    entries.map(with_server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_cannot_claim_to_be_of_another_server() {
        let (server, entry) = ("mine".to_owned(), json!({"uri": "a://b", "server": "other"}));
        let listed = with_servers([(&server, &entry)].into_iter());
        assert_eq!(listed, json!([{"server": "mine", "uri": "a://b"}]));
    }
}
