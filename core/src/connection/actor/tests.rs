use std::time::Duration;

use serde_json::json;

use super::super::phase::{Health, Ladder};
use super::super::{Connection, ConnectionHost};
use super::*;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::ErrorKind;
use crate::status::State;

fn server(restart_delay_ms: u64) -> ServerConfig {
    let server = json!({"command": "server", "restart": {"delays": [restart_delay_ms]}});
    let config = Config::from_value(json!({"mcpServers": {"a": server}})).unwrap();
    config.servers["a"].config.clone().unwrap()
}

/// An actor whose server is up, with its commands, and a handle to what it publishes.
fn ready() -> (Actor, mpsc::UnboundedSender<Command>, Connection) {
    let host = ConnectionHost { clock: Clock::manual(), client_info: None, login_store: None };
    let connection = Connection::new("a", server(1_000), host, None);
    let (commands, inbox) = mpsc::unbounded_channel();
    let (headers, shared) = (connection.headers(), connection.shared.clone());
    let mut actor = Actor::new(server(1_000), headers, inbox, shared);
    actor.phase = Phase::Ready {
        generation: 0,
        ladder: Ladder::default(),
        health: Health::Sound,
        held: false,
    };
    (actor, commands, connection)
}

#[tokio::test]
async fn a_loss_after_a_change_of_the_settings_follows_the_new_ones() {
    // Many rounds: without an order between the two, each is taken first in half of them.
    for _ in 0..32 {
        let (actor, commands, connection) = ready();
        let _ = commands.send(Command::Redefine(Box::new(server(7_000)), connection.headers()));
        let lost = Error::new(ErrorKind::ConnectionLost, "gone");
        let _ = actor.news_sender.send((0, SessionEvent::Lost(lost, Loss::Gone)));
        let mut changes = connection.changes();
        let running = tokio::spawn(actor.run());
        changes.changed().await.unwrap();
        let published = connection.published();
        assert_eq!(published.state, State::Reconnecting);
        assert_eq!(published.retry_at, Some(Duration::from_secs(7)));
        drop(commands);
        running.await.unwrap();
    }
}

#[tokio::test]
async fn a_connect_that_comes_after_the_last_release_starts_nothing() {
    let host = ConnectionHost { clock: Clock::manual(), client_info: None, login_store: None };
    let connection = Connection::new("a", server(1_000), host, None);
    connection.disconnect().await;
    let error = connection.connect().await.unwrap_err();
    assert_eq!(error, Error::disconnected("a"));
    assert_eq!(connection.published().state, State::Disconnected);
}
