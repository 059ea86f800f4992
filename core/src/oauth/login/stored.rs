//! Reads and writes the stored login: in its file, or in the store of the program that uses mcpool.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::MutexGuard;
use tokio::time::timeout;

use super::{Login, NEVER, STORE, STORE_AGAIN_MS};
use crate::config::Dpop;
use crate::login_store::{LoginStore, LoginStoreRequest};
use crate::oauth::dpop::DpopKey;
use crate::oauth::problem::Problem;
use crate::oauth::record::Record;
use crate::oauth::renewal::Renewal;
use crate::oauth::store::{LOCK, LoginFile, LoginLock, Sealing};
use crate::redact::Secret;
use crate::runtime;
use crate::sync::lock as lock_of;
use crate::time::now_ms;

/// How long the end of a connection waits until its login is stored.
const FINISH: Duration = Duration::from_secs(4);

impl Login {
    /// Reads the stored login, once.
    pub(super) async fn load(&self) {
        let _busy = self.busy.lock().await;
        if self.is_loaded.load(Ordering::Acquire) {
            return;
        }
        // Most servers want no login: nothing is read for them.
        let has_store = self.store.is_some();
        if has_store || self.file.as_ref().is_some_and(LoginFile::exists) {
            let record = self.read().await;
            self.adopt_record(&record);
        }
        self.is_loaded.store(true, Ordering::Release);
    }

    /// Uses the token of a record, if there is one for these settings.
    pub(super) fn adopt_record(&self, record: &Record) {
        let Some(token) = record.token.as_ref().filter(|_| self.is_ours(record)) else { return };
        let dpop = self.dpop_key(record).ok().flatten().filter(|_| token.is_dpop);
        let lacks_key = token.is_dpop && dpop.is_none();
        if lacks_key || self.settings.dpop == Dpop::Always && !token.is_dpop {
            return;
        }
        if let Err(problem) = self.adopt(token, dpop) {
            self.warn(&format!("the stored login is not used: {}", problem.text()));
        }
    }

    /// The key that the token of a record is bound to; the one in use if it is the same, because it knows nonces.
    pub(super) fn dpop_key(&self, record: &Record) -> Result<Option<Arc<DpopKey>>, Problem> {
        let Some(stored) = &record.dpop_key else { return Ok(None) };
        let stored = DpopKey::from_stored(stored.expose())?;
        let current = self.current.load_full().and_then(|token| token.dpop.clone());
        let known = current.filter(|current| current.thumbprint() == stored.thumbprint());
        Ok(Some(known.unwrap_or_else(|| Arc::new(stored))))
    }

    /// Whether the settings still want the login of this record.
    pub(super) fn is_ours(&self, record: &Record) -> bool {
        record.mismatch(self.server_hash.as_deref(), &self.settings).is_none()
    }

    fn is_for_server(&self, record: &Record) -> bool {
        self.server_hash.as_ref().is_none_or(|hash| record.server_hash == *hash)
    }

    /// The stored record; an empty one if there is none that can be used.
    pub(super) async fn read(&self) -> Record {
        self.read_usable().await.unwrap_or_else(|| self.empty_record())
    }

    /// The stored record, or an empty one; `None` if there is one that cannot be used.
    pub(super) async fn read_usable(&self) -> Option<Record> {
        // What could not be stored is newer than what is.
        let kept = lock_of(&self.kept).clone();
        let record = match kept {
            Some(kept) => Ok(Some(kept)),
            None => self.read_stored().await,
        };
        match record {
            Ok(Some(record)) if self.is_for_server(&record) => Some(record),
            Ok(Some(_)) => {
                self.warn("the stored login is not used: it is for another server");
                None
            }
            Ok(None) => Some(self.empty_record()),
            Err(error) => {
                let own = self.file.as_ref().filter(|_| self.store.is_none());
                let place =
                    own.map_or("the login_store".into(), |file| file.path().display().to_string());
                self.warn(&format!("the stored login is not used: {place}: {error}"));
                None
            }
        }
    }

    /// Locks the login for all processes; `None` if it is not stored.
    pub(super) async fn lock_file(&self) -> Result<Option<LoginLock>, Problem> {
        let Some(file) = self.file.clone() else { return Ok(None) };
        match blocking(move || file.lock(LOCK)).await {
            Ok(Some(lock)) => Ok(Some(lock)),
            Ok(None) => Err(Problem::unreachable("another process does not finish signing in")),
            Err(error) => {
                self.warn(&format!("the login is not stored: {error}"));
                Ok(None)
            }
        }
    }

    /// The file that the login is kept in, if it is kept there and nowhere else.
    pub(super) fn own_file(&self) -> Option<&LoginFile> {
        let is_elsewhere = self.store.is_some() || lock_of(&self.kept).is_some();
        self.file.as_ref().filter(|_| !is_elsewhere)
    }

    /// Keeps the record that another process could not store.
    pub(super) fn note_not_stored(&self, renewal: &Renewal, why: Option<String>) {
        if let (Some(record), Some(why)) = (renewal.record(), why) {
            self.keep_in_memory(record);
            self.warn(&format!("the login is not stored: {why}"));
        }
    }

    /// Stores a record. Without a lock there is no place to store it.
    pub(super) async fn store(&self, record: &Record, sealing: Sealing, lock: Option<LoginLock>) {
        self.keep_in_memory(record);
        match self.write(record, sealing, lock).await {
            Ok(true) => {
                self.forget_kept();
                self.was_stored.store(record.token.is_some(), Ordering::Relaxed);
            }
            Ok(false) => {}
            Err(error) => self.warn(&format!("the login is not stored: {error}")),
        }
    }

    fn keep_in_memory(&self, record: &Record) {
        *lock_of(&self.kept) = Some(record.clone());
        self.store_again_ms.store(now_ms().saturating_add(STORE_AGAIN_MS), Ordering::Relaxed);
    }

    fn forget_kept(&self) {
        *lock_of(&self.kept) = None;
        self.store_again_ms.store(NEVER, Ordering::Relaxed);
    }

    /// Whether there is something that could not be stored.
    pub(crate) fn is_unstored(&self) -> bool {
        lock_of(&self.kept).is_some()
    }

    /// Stores what could not be stored before, if it is time for that. Nobody waits for it.
    pub(super) fn store_kept_later(&self) {
        let at = self.store_again_ms.load(Ordering::Relaxed);
        if at == NEVER || at > now_ms() {
            return;
        }
        let next = now_ms().saturating_add(STORE_AGAIN_MS);
        self.store_again_ms.store(next, Ordering::Relaxed);
        if let Some(me) = self.me.upgrade() {
            runtime::spawn(async move {
                // Whoever is busy may store it, or needs no further delay.
                if let Ok(busy) = me.busy.try_lock() {
                    me.store_kept(&busy).await;
                }
            });
        }
    }

    /// Waits for a refresh that is running, and stores what is not stored, for a limited time. The program that keeps the
    /// login may not be there later.
    pub(crate) async fn finish(&self) {
        if self.store.is_none() {
            return;
        }
        let stored = async { self.store_kept(&self.busy.lock().await).await };
        if timeout(FINISH, stored).await.is_err() {
            tracing::debug!(server = &*self.server, "the login was not stored in time");
        }
    }

    /// Stores what could not be stored before, unless there is a newer login by now, or none any more.
    async fn store_kept(&self, _busy: &MutexGuard<'_, ()>) {
        let Some(record) = lock_of(&self.kept).clone() else { return };
        let Ok(lock) = self.lock_file().await else { return };
        match self.read_stored().await {
            Ok(Some(newer)) if newer.issued_at_ms() > record.issued_at_ms() => {
                self.forget_kept();
                self.adopt_record(&newer);
            }
            Ok(None) if self.was_stored.load(Ordering::Relaxed) => self.forget_kept(),
            Ok(_) => self.store(&record, Sealing::AsBefore, lock).await,
            Err(_) => {}
        }
    }

    /// Writes a record; returns whether there is a place for it.
    async fn write(
        &self,
        record: &Record,
        sealing: Sealing,
        lock: Option<LoginLock>,
    ) -> io::Result<bool> {
        if let Some(store) = &self.store {
            return self.save_to(store, record).await.map(|()| true);
        }
        let (Some(file), Some(lock)) = (self.file.clone(), lock) else { return Ok(false) };
        let record = record.clone();
        blocking(move || file.write(&record, sealing, &lock).map(|()| true)).await
    }

    /// What is stored, whatever it is for.
    async fn read_stored(&self) -> io::Result<Option<Record>> {
        let read = match (&self.store, self.file.clone()) {
            (Some(store), _) => self.read_from(store).await,
            (None, Some(file)) => blocking(move || file.read()).await,
            (None, None) => Ok(None),
        };
        if let Ok(Some(record)) = &read
            && record.token.is_some()
        {
            self.was_stored.store(true, Ordering::Relaxed);
        }
        read
    }

    async fn read_from(&self, store: &LoginStore) -> io::Result<Option<Record>> {
        let request = LoginStoreRequest::Load { key: self.key.clone() };
        match ask(store, request).await? {
            Some(text) => Record::read(text.as_bytes()).map(Some),
            None => Ok(None),
        }
    }

    async fn save_to(&self, store: &LoginStore, record: &Record) -> io::Result<()> {
        let value = Secret::new(serde_json::to_string(record)?);
        ask(store, LoginStoreRequest::Save { key: self.key.clone(), value }).await.map(drop)
    }

    /// Removes what is stored; returns whether there was a file.
    pub(super) async fn remove(&self, lock: Option<LoginLock>) -> io::Result<bool> {
        self.forget_kept();
        self.was_stored.store(false, Ordering::Relaxed);
        if let Some(store) = &self.store {
            let request = LoginStoreRequest::Remove { key: self.key.clone() };
            return ask(store, request).await.map(|_| false);
        }
        match (self.file.clone(), lock) {
            (Some(file), Some(lock)) => blocking(move || file.remove(&lock)).await,
            _ => Ok(false),
        }
    }
}

/// Asks the program's store, which has limited time.
async fn ask(store: &LoginStore, request: LoginStoreRequest) -> io::Result<Option<String>> {
    match timeout(STORE, store.ask(request)).await {
        Ok(answer) => answer.map_err(io::Error::other),
        Err(_) => Err(io::Error::other("it did not answer in time")),
    }
}

/// Runs work that blocks on a thread of its own: it may wait for another process.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = runtime::unblock(move || Ok(work())).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error.message().to_owned())))
}
