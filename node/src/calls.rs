//! Owns handing a call to the core: the one verb that has to be fast.

use mcpool::{Address, Arguments, CallOptions, Letter, ToolRef};
use napi_derive::napi;

use crate::manager::NativeManager;
use crate::post::{Stop, Waiting};
use crate::text::Text;

#[napi]
impl NativeManager {
    /// Calls a tool; without a server, `tool` is a name of the catalog. True asks for a flush after this turn.
    #[napi(
        ts_args_type = "key: number, server: string | undefined, tool: string, argumentsJson: string | undefined, timeoutMs: number | undefined, progress: boolean, metaJson: string | undefined"
    )]
    #[expect(clippy::too_many_arguments)]
    pub fn submit(
        &self,
        key: i64,
        server: Option<Text>,
        tool: Text,
        arguments: Option<Text>,
        timeout_ms: Option<f64>,
        progress: bool,
        meta: Option<Text>,
    ) -> bool {
        let key = key as u64;
        let address = Address { mailbox: self.post.mailbox.clone(), key };
        let sent = || {
            let arguments = arguments.map_or_else(
                || Ok(Arguments::none()),
                |json| Arguments::from_writer(json.into_bytes()),
            )?;
            let mut options = CallOptions {
                timeout: timeout_ms.map(|ms| CallOptions::read_timeout(ms / 1000.0)).transpose()?,
                meta: meta.map(|json| CallOptions::read_meta(&json.into_bytes())).transpose()?,
                on_progress: None,
            };
            if progress {
                let Address { mailbox, key } = address.clone();
                options.on_progress =
                    Some(Box::new(move |progress| mailbox.post(key, Letter::Progress(progress))));
            }
            let tool = match &server {
                Some(server) => ToolRef::Of { server: server.as_str(), tool: tool.as_str() },
                None => ToolRef::Named(tool.as_str()),
            };
            self.core.submit(tool, arguments, options, address)
        };
        let stop = match sent() {
            Ok(handle) => Stop::Call(handle),
            Err(error) => {
                self.post.mailbox.post(key, Letter::Failed(error));
                Stop::Nothing
            }
        };
        self.post.expect(key, Waiting { stop, holds: true });
        !self.post.delivering.get() && self.post.mailbox.wants_flush_scheduled()
    }
}
