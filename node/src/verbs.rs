//! Owns the async verbs of a manager: each ends in a letter for the key that JavaScript gave.

use std::future::Future;

use mcpool::host::Language;
use mcpool::{AuthorizeOptions, CallOptions, Config, Manager};
use napi_derive::napi;

use crate::bridge::start_listening;
use crate::manager::NativeManager;
use crate::question::{listen, listen_meanwhile};
use crate::text::to_json;
use crate::waiting::{Stop, Waiting};

#[napi]
impl NativeManager {
    #[napi]
    pub fn connect_all(&self, key: i64) {
        self.start(key, |core| {
            let verb = core.connect_all();
            async move { verb.await.map(|report| to_json(&report)) }
        });
    }

    #[napi]
    pub fn connect(&self, key: i64, server: String) {
        self.run(key, |core| core.connect(&server));
    }

    /// `options` is JSON.
    #[napi]
    pub fn wait_for(&self, key: i64, server: String, options: String) {
        let limit = CallOptions::read_wait(&options, Language::Node);
        self.run(key, |core| {
            let verb = limit.map(|limit| core.wait_for(&server, limit));
            async move { verb?.await }
        });
    }

    /// `options` is JSON.
    #[napi]
    pub fn authorize(&self, key: i64, server: String, options: String) {
        let options = AuthorizeOptions::from_json(&options, Language::Node);
        self.run(key, |core| {
            let verb = options.map(|options| core.authorize(&server, options));
            async move { verb?.await }
        });
    }

    #[napi]
    pub fn complete_auth(&self, key: i64, redirect_url: String) {
        self.run(key, |core| core.complete_auth(&redirect_url));
    }

    #[napi]
    pub fn forget_auth(&self, key: i64, server: String) {
        self.run(key, |core| core.forget_auth(&server));
    }

    /// Asks a server besides calling tools, by the name of a verb of the core; `params` and the answer are JSON.
    #[napi]
    pub fn request(&self, key: i64, server: String, verb: String, params: String) {
        self.start(key, |core| core.request(&server, &verb, &params));
    }

    #[napi]
    pub fn accept_drift(&self, key: i64, server: String, tool: Option<String>) {
        let verb = self.core.accept_drift(&server, tool.as_deref());
        let verb = async move { verb.await.map(|names| to_json(&names)) };
        start_listening(&self.post, key, true, None, || verb);
    }

    #[napi]
    pub fn disconnect(&self, key: i64, server: String) {
        self.end(key, self.core.disconnect(&server));
    }

    #[napi]
    pub fn disconnect_all(&self, key: i64) {
        self.end(key, ending(self.core.disconnect_all()));
    }

    #[napi]
    pub fn close(&self, key: i64) {
        self.end(key, ending(self.core.close()));
    }

    /// Without a config, the file is read again.
    #[napi]
    pub fn reload(&self, key: i64, config: Option<String>) {
        let manager = Manager::clone(&self.core);
        self.start(key, |_| async move {
            let report = match config {
                Some(config) => manager.reload_with(Config::from_json(&config)?).await,
                None => manager.reload().await,
            };
            report.map(|report| to_json(&report))
        });
    }

    /// The core's questions come as letters for `key`, also while no verb is running, until the key is cancelled.
    #[napi]
    pub fn listen(&self, key: i64) {
        if let Some(questions) = &self.kept.questions {
            let listening = Some(listen_meanwhile(questions, &self.post, key));
            let waiting = Waiting { stop: Stop::Nothing, holds: false, _listening: listening };
            self.post.expect(key as u64, waiting);
        }
    }

    fn run<V>(&self, key: i64, verb: impl FnOnce(&Manager) -> V)
    where
        V: Future<Output = mcpool::Result<()>> + Send + 'static,
    {
        self.start(key, |core| {
            let verb = verb(core);
            async move { verb.await.map(|()| "null".to_owned()) }
        });
    }

    /// Runs what ends servers. Questions about their logins go to whoever listens meanwhile.
    fn end(&self, key: i64, verb: impl Future<Output = mcpool::Result<()>> + Send + 'static) {
        let verb = async move { verb.await.map(|()| "null".to_owned()) };
        start_listening(&self.post, key, true, None, || verb);
    }

    /// Runs a verb that may start servers: the core's questions are answered meanwhile.
    fn start<V>(&self, key: i64, verb: impl FnOnce(&Manager) -> V)
    where
        V: Future<Output = mcpool::Result<String>> + Send + 'static,
    {
        let questions = self.kept.questions.as_ref();
        let listening = questions.map(|questions| listen(questions, &self.post, key));
        start_listening(&self.post, key, true, listening, || verb(&self.core));
    }
}

async fn ending(verb: impl Future<Output = ()>) -> mcpool::Result<()> {
    verb.await;
    Ok(())
}
