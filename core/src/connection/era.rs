//! Owns what is known of the protocol of a server from earlier attempts and sessions: which question is asked first.
//! Invariant: a server that crashes at one question is asked the other one next time, and one that has answered is asked
//! the same again.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::ConnectionShared;
use crate::config::ServerConfig;
use crate::oauth::Login;
use crate::runtime;
use crate::session::{Era, Negotiation};
use crate::sync::lock;

/// What the attempts of a connection have found out.
#[derive(Default)]
pub(super) struct EraMemory {
    /// The era that the server has answered in, now or in an earlier session.
    proven: Option<Era>,
    /// The server ended at this question.
    fatal: Option<Era>,
    is_loaded: bool,
}

impl EraMemory {
    fn first(&self, demanded: Option<Era>) -> Era {
        let usual = demanded.or(self.proven).unwrap_or(Era::Initialize);
        self.fatal.map_or(usual, Era::other)
    }

    pub(super) fn note_success(&mut self, era: Era) {
        *self = EraMemory { proven: Some(era), fatal: None, is_loaded: true };
    }

    /// The server has ended before it answered `first`. A server that is known to have a handshake had another reason.
    pub(super) fn note_crash(&mut self, first: Era) {
        let is_known = first == Era::Initialize && self.proven == Some(Era::Initialize);
        self.fatal = (!is_known).then_some(first);
    }
}

/// The era that the cached tools were listed in, while it is being read.
pub(super) type CachedEra = Option<JoinHandle<Option<Era>>>;

impl ConnectionShared {
    /// Starts to read what earlier sessions have found out, if nothing is known yet.
    pub(super) fn read_cached_era(&self, config: &ServerConfig) -> CachedEra {
        let is_known = std::mem::replace(&mut lock(&self.era).is_loaded, true);
        if is_known || config.protocol.is_some() {
            return None;
        }
        let mut stores = self.subscribers.tool_stores(&self.server);
        stores.retain(|store| !store.is_off());
        if stores.is_empty() {
            return None;
        }
        let (server, now_ms) = (self.server.clone(), self.clock.wall_ms());
        let fingerprint = config.cache_fingerprint();
        Some(runtime::handle().spawn_blocking(move || {
            let version = stores
                .iter()
                .find_map(|store| store.cached_protocol(&server, &fingerprint, now_ms));
            Era::of_version(&version?)
        }))
    }

    pub(super) async fn note_cached_era(&self, cached: CachedEra) {
        if let Some(cached) = cached
            && let Ok(Some(era)) = cached.await
        {
            lock(&self.era).proven.get_or_insert(era);
        }
    }

    /// What is asked of the server, in which order. A program may take long to start, and is silent until then.
    pub(super) fn questions<'a>(
        &self,
        config: &'a ServerConfig,
        starts_program: bool,
        login: Option<Arc<Login>>,
    ) -> Negotiation<'a> {
        let version = config.protocol.as_deref();
        let demanded = version.and_then(Era::of_version);
        let patience = starts_program.then_some(config.timeout / 2);
        if demanded == Some(Era::Initialize) {
            return Negotiation { first: Era::Initialize, both: false, version, patience, login };
        }
        let first = lock(&self.era).first(demanded);
        Negotiation { first, both: true, version: None, patience, login }
    }

    /// Another definition: the server may be another one.
    pub(super) fn forget_era(&self) {
        *lock(&self.era) = EraMemory::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_era_that_worked_is_asked_for_first() {
        let mut memory = EraMemory::default();
        assert_eq!(memory.first(None), Era::Initialize);
        assert_eq!(memory.first(Some(Era::Stateless)), Era::Stateless);
        memory.note_success(Era::Stateless);
        assert_eq!(memory.first(None), Era::Stateless);
        memory.note_success(Era::Initialize);
        assert_eq!(memory.first(Some(Era::Stateless)), Era::Stateless, "the definition wins");
    }

    #[test]
    fn a_crash_leads_to_the_other_question() {
        let mut memory = EraMemory::default();
        memory.note_crash(Era::Initialize);
        assert_eq!(memory.first(None), Era::Stateless);
        memory.note_crash(Era::Stateless);
        assert_eq!(memory.first(None), Era::Initialize, "each in turn");
        assert_eq!(memory.first(Some(Era::Stateless)), Era::Initialize);
        memory.note_success(Era::Initialize);
        memory.note_crash(Era::Initialize);
        assert_eq!(memory.first(None), Era::Initialize, "it is known to have a handshake");
        memory.note_success(Era::Stateless);
        memory.note_crash(Era::Stateless);
        assert_eq!(memory.first(None), Era::Initialize, "it may have become an older one");
    }
}
