//! Scans what a server says of itself and of its tools for instructions to a model: once per change, off the runtime.
//! Every manager that holds the connection gets the suspicions, including one that joins later.

use super::ConnectionShared;
use crate::redact::Mask;
use crate::scan::{Signal, scan, summary};
use crate::subscribers::{Suspicion, TextOrigin};
use crate::sync::lock;
use crate::tool::Tools;

/// How many are reported, so that one server cannot flood the log. Each tool keeps its own signals.
const MOST: usize = 32;

impl ConnectionShared {
    /// Scans everything. Blocks.
    pub(super) fn inspect(&self, tools: &Tools, instructions: Option<&str>, mask: &Mask) {
        let masked = |signals: &[Signal]| signals.iter().map(|it| it.masked(mask)).collect();
        let found = instructions.map(scan).unwrap_or_default();
        let of_server = (!found.is_empty())
            .then(|| Suspicion { origin: TextOrigin::Instructions, signals: masked(&found) });
        let of_tools = tools.list.iter().filter(|tool| !tool.signals().is_empty()).map(|tool| {
            let name = mask.text(tool.raw_name()).into_owned();
            Suspicion { origin: TextOrigin::Tool(name), signals: masked(tool.signals()) }
        });
        let suspicions: Vec<Suspicion> = of_server.into_iter().chain(of_tools).take(MOST).collect();
        // Stored before they are reported: a manager that joins meanwhile reads them there.
        lock(&self.suspicions).clone_from(&suspicions);
        for suspicion in &suspicions {
            if !self.subscribers.report_suspicion(&self.server, suspicion) {
                continue;
            }
            let (server, found) = (&*self.server, summary(&suspicion.signals));
            match &suspicion.origin {
                TextOrigin::Tool(tool) => tracing::warn!(
                    server,
                    tool,
                    "the description of a tool tries to give orders: {found}"
                ),
                _ => tracing::warn!(
                    server,
                    "the instructions of a server try to give orders: {found}"
                ),
            }
        }
    }
}
