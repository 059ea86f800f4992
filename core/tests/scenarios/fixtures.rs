//! Owns the fixture servers of a scenario: on which transport each runs, what `${…}` stands for, ending and starting again.

use std::collections::HashMap;

use serde_json::{Value, json};
use url::Url;

use crate::common::{Web, fixture};
use crate::matching::{Names, fill};
use crate::steps::is_transport;

/// The fixtures of one scenario, by name.
#[derive(Default)]
pub(crate) struct Fixtures(HashMap<String, Fixture>);

/// A fixture that can be ended and started again at the same address.
struct Fixture {
    transport: String,
    knobs: Vec<String>,
    /// `None` over stdio, where managers start it
    url: Option<String>,
    server: Option<Web>,
}

impl Fixtures {
    /// Starts the fixtures of a scenario in their order, and adds what they are called to `names`. `variant` is one of
    /// the scenario's `transports`.
    pub(crate) fn start(
        scenario: &Value,
        variant: Option<&str>,
        names: &mut Names,
    ) -> Result<Self, String> {
        let mut variant = variant.unwrap_or("http").split(' ').map(str::to_owned);
        let usual = variant.next().unwrap_or_default();
        let more: Vec<String> = variant.collect();
        names.push(("transport".into(), json!(usual)));
        let mut fixtures = Fixtures::default();
        for (name, words) in scenario["fixtures"].as_object().into_iter().flatten() {
            let mut knobs: Vec<String> = serde_json::from_value(fill(words, names))
                .map_err(|error| format!("the knobs of {name}: {error}"))?;
            let transport = match knobs.first().is_some_and(|word| is_transport(word)) {
                true => knobs.remove(0),
                false => {
                    knobs.extend(more.iter().cloned());
                    usual.clone()
                }
            };
            let mut started = Fixture { transport, knobs, url: None, server: None };
            started.start()?;
            names.push((format!("{name}:server"), started.definition()));
            if let Some(url) = &started.url {
                let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
                names.push((name.clone(), json!(url)));
                names.push((format!("{name}:origin"), json!(origin.unwrap_or_default())));
            }
            fixtures.0.insert(name.clone(), started);
        }
        Ok(fixtures)
    }

    /// Executes `end_fixture` and `start_fixture`.
    pub(crate) fn step(&mut self, step: &Value) -> Result<(), String> {
        let name = step["fixture"].as_str().unwrap_or_default();
        let fixture = self.0.get_mut(name).ok_or("there is no such fixture")?;
        match step["do"] == "start_fixture" {
            true => fixture.start(),
            false => fixture.end(),
        }
    }
}

impl Fixture {
    fn start(&mut self) -> Result<(), String> {
        if self.transport == "stdio" {
            return Ok(());
        }
        self.server = None;
        let port = self.url.as_deref().map(port_of).transpose()?;
        let port = port.into_iter().flat_map(|port| ["--port", port]);
        let knobs = self.knobs.iter().map(String::as_str).chain(port);
        let (server, url) = Web::start_over(&self.transport, knobs);
        (self.server, self.url) = (Some(server), Some(url));
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        match self.server.take() {
            Some(_) => Ok(()),
            None => Err("the runner has not started it".into()),
        }
    }

    /// The definition of a server that reaches it.
    fn definition(&self) -> Value {
        match &self.url {
            Some(url) => json!({"type": self.transport, "url": url}),
            None => {
                let args = std::iter::once(&self.transport).chain(&self.knobs);
                json!({"command": fixture(), "args": args.collect::<Vec<_>>()})
            }
        }
    }
}

fn port_of(url: &str) -> Result<&str, String> {
    let mut parts = url.split([':', '/']).filter(|part| !part.is_empty());
    parts.nth(2).ok_or_else(|| format!("{url} has no port"))
}
