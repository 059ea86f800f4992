//! Owns looking through what a server says of itself and of its tools for orders to a model: once for each change, off
//! the runtime. Everybody who holds the connection is told, and whoever joins later too.

use super::Shared;
use crate::event::{EventKind, InjectionPlace};
use crate::redact::Mask;
use crate::result::{Signal, scan, summary};
use crate::subscribers::View;
use crate::sync::lock;
use crate::tool::Tools;

/// So many are told: a server must not drown what others say. Each tool knows its own.
const MOST: usize = 32;

/// A text of the server that is suspicious.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Suspicion {
    /// The raw name of the tool that it describes; none for the server's instructions.
    tool: Option<String>,
    signals: Vec<Signal>,
}

impl Suspicion {
    fn tell(&self, server: &str, view: &View) -> bool {
        let (tool, signals) = (self.tool.clone(), self.signals.clone());
        let place = match tool {
            Some(_) => InjectionPlace::Description,
            None => InjectionPlace::Instructions,
        };
        let news = view.is_first_report(server, self);
        if news {
            view.events.emit(server, EventKind::Injection { place, tool, signals });
        }
        news
    }
}

impl Shared {
    /// Looks through all of it; blocks for as long as that takes.
    pub(super) fn inspect(&self, tools: &Tools, instructions: Option<&str>, mask: &Mask) {
        let masked = |signals: &[Signal]| signals.iter().map(|it| it.masked(mask)).collect();
        let found = instructions.map(scan).unwrap_or_default();
        let of_server =
            (!found.is_empty()).then(|| Suspicion { tool: None, signals: masked(&found) });
        let of_tools = tools.list.iter().filter(|tool| !tool.signals().is_empty()).map(|tool| {
            let name = mask.text(tool.raw_name()).into_owned();
            Suspicion { tool: Some(name), signals: masked(tool.signals()) }
        });
        let suspicions: Vec<Suspicion> = of_server.into_iter().chain(of_tools).take(MOST).collect();
        // Noted before: whoever joins meanwhile reads them there.
        lock(&self.suspicions).clone_from(&suspicions);
        let views = self.subscribers.views();
        for suspicion in &suspicions {
            let news = views.iter().filter(|view| suspicion.tell(&self.server, view)).count();
            if news > 0 {
                let (server, found) = (&*self.server, summary(&suspicion.signals));
                match &suspicion.tool {
                    Some(tool) => tracing::warn!(
                        server,
                        tool,
                        "the description of a tool tries to give orders: {found}"
                    ),
                    None => tracing::warn!(
                        server,
                        "the instructions of a server try to give orders: {found}"
                    ),
                }
            }
        }
    }

    /// Tells somebody who comes later.
    pub(super) fn tell_suspicions(&self, view: &View) {
        let suspicions = lock(&self.suspicions).clone();
        for suspicion in suspicions {
            suspicion.tell(&self.server, view);
        }
    }
}
