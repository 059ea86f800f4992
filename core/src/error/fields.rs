//! Owns the list of an error's fields: one row each, with its name, type and description.
//! The storage, the accessors and the JSON derive from the list; the classes of Python and TypeScript and the table in
//! the docs are generated from it (`generated`).
//! Invariant: every field is in the JSON under its name in the list, null where there is none.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

#[cfg(test)]
use super::generated::{FieldInfo, FieldType};
use super::{Cause, Error, ErrorKind, Executed, Restart, RpcError, Stage};

/// Declares the fields: those that are computed for every error, and those that an error may have.
macro_rules! error_fields {
    (
        computed {
            $(
                $(#[doc = $computed_about:literal])+
                $computed:ident: $Computed:ty = |$error:ident| $value:expr,
            )*
        }
        optional {
            $($(#[doc = $about:literal])+ $field:ident: $Type:ident,)*
        }
    ) => {
        /// The fields that an error may have.
        #[derive(Clone, Default, PartialEq)]
        pub(super) struct Fields {
            $(pub(super) $field: Option<$Type>,)*
        }

        impl Error {
            $(
                $(#[doc = $computed_about])+
                pub fn $computed(&self) -> $Computed {
                    let $error = self;
                    $value
                }
            )*
            $(
                $(#[doc = $about])+
                pub fn $field(&self) -> borrowed!($Type) {
                    borrowed!($Type, self.0.fields.$field)
                }
            )*
        }

        impl Serialize for Error {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                const NAMES: &[&str] = &[$(stringify!($computed),)* $(stringify!($field),)*];
                let mut out = serializer.serialize_struct("Error", NAMES.len())?;
                $(out.serialize_field(stringify!($computed), &self.$computed())?;)*
                $(out.serialize_field(stringify!($field), &self.$field())?;)*
                out.end()
            }
        }

        #[cfg(test)]
        pub(super) const FIELDS: &[FieldInfo] = &[
            $(FieldInfo {
                name: stringify!($computed),
                kind: <$Computed as FieldType>::KIND,
                about: concat!($($computed_about),+).trim_ascii_start(),
                is_optional: false,
            },)*
            $(FieldInfo {
                name: stringify!($field),
                kind: <$Type as FieldType>::KIND,
                about: concat!($($about),+).trim_ascii_start(),
                is_optional: true,
            },)*
        ];
    };
}

/// The type that an accessor returns for a stored `Option`, and the conversion to it.
macro_rules! borrowed {
    (String) => { Option<&str> };
    (String, $stored:expr) => { $stored.as_deref() };
    (RpcError) => { Option<&RpcError> };
    (RpcError, $stored:expr) => { $stored.as_ref() };
    (Restart) => { Option<&Restart> };
    (Restart, $stored:expr) => { $stored.as_ref() };
    (Cause) => { Option<&Cause> };
    (Cause, $stored:expr) => { $stored.as_ref() };
    ($Copy:ident) => { Option<$Copy> };
    ($Copy:ident, $stored:expr) => { $stored };
}

error_fields! {
    computed {
        /// The stable code.
        code: &'static str = |error| error.kind().code(),
        /// What happened, for people.
        message: &str = |error| error.0.message.as_str(),
        /// The message, after the name of the server where it does not name it.
        text: String = |error| error.named_message(),
        /// The message for a model: it names no address, path or command of the user.
        model_message: String = |error| error.message_for_model(),
        /// Whether the same request may succeed later without any change.
        retryable: bool = |error| error.kind().retryable(),
        /// Whether the message or hint contains text of the server, or of the author of its definition. A model should
        /// trust it as little as a result.
        by_server: bool = |error| error.0.message.quotes_others() || error.kind() == ErrorKind::ConfigInvalid,
    }
    optional {
        /// What to do about it.
        hint: String,
        /// The server's name.
        server: String,
        /// The tool that may have been meant by one that does not exist: a name of the catalog for `call`, the server's own
        /// name for `call_tool`.
        suggestion: String,
        /// The step that failed; none if a server was lost between calls, or if there is no server.
        stage: Stage,
        /// Whether the tool ran, for the error of a call.
        executed: Executed,
        /// The exit code of the server's process.
        exit_code: i32,
        /// The signal that ended the server's process.
        signal: i32,
        /// The last lines of the server's stderr, for failed starts and for processes that ended.
        stderr: String,
        /// The first lines of stdout that are not messages, for failed starts.
        stdout: String,
        /// The task that the call waited for. Where the server still has it, the option `resume_task` of another call waits
        /// for its result.
        task_id: String,
        /// The HTTP status that refused the request.
        http_status: u16,
        /// The page to open in a browser, for `AUTH_REQUIRED`.
        auth_url: String,
        /// The scopes that a sign-in has to ask for, with spaces between them, for `AUTH_REQUIRED` if a sign-in helps.
        auth_scopes: String,
        /// The server's JSON-RPC error, for `TOOL_FAILED`, refused handshakes and refusals by HTTP status.
        rpc: RpcError,
        /// The state of the restart, for `mcp_restart_in_progress` and `mcp_restart_failed`.
        restart: Restart,
        /// When to retry, in milliseconds: the `Retry-After` of a 429 or 503.
        retry_after_ms: u64,
        /// What the error follows from: the server's failure behind the error of a call, or an error of the system or
        /// of a library.
        cause: Cause,
    }
}
