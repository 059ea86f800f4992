//! Owns fetching the tool list, and how long it is up to date.

use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::handshake::{Handshake, connect_error};
use super::list::{ListKind, WholeList, list_all};
use super::{Session, table};
use crate::error::Result;

const TOOLS: ListKind = ListKind { method: "tools/list", member: "tools", entries: "tools" };

/// All pages of the tool list, each tool as the server wrote it.
pub(crate) async fn list_tools(session: &Session, handshake: &Handshake) -> Result<Vec<Bytes>> {
    if !handshake.has_tools {
        return Ok(Vec::new());
    }
    let WholeList { entries, ttl_ms } =
        list_all(session, &TOOLS, None).await.map_err(connect_error)?;
    session.note_ttl_of_tools(ttl_ms);
    Ok(entries)
}

impl Session {
    /// Notes how long the list is up to date. Most servers say 0 where they know nothing, so 0 says nothing.
    fn note_ttl_of_tools(&self, ttl_ms: Option<u64>) {
        let ttl_ms = ttl_ms.filter(|&ttl_ms| ttl_ms > 0 && self.is_stateless());
        let ttl_us = ttl_ms.map(|ttl_ms| ttl_ms.saturating_mul(1000));
        let stale_at_us = ttl_us.map_or(table::NEVER, |ttl_us| table::after(self.now_us(), ttl_us));
        self.tools_stale_at_us.store(stale_at_us, Ordering::Relaxed);
    }

    /// Lists the tools again if they were up to date only until now; for a read of the tools. Returns whether they are.
    pub(crate) fn refresh_stale_tools(&self) -> bool {
        let stale_at_us = self.tools_stale_at_us.load(Ordering::Relaxed);
        if stale_at_us == table::NEVER || stale_at_us > self.now_us() {
            return false;
        }
        // Once, until they are listed again.
        self.tools_stale_at_us.store(table::NEVER, Ordering::Relaxed);
        self.note_changed_tools(false);
        true
    }
}
