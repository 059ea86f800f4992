//! Owns the types of an error's fields: the stage, whether the tool ran, the server's answer, the state of the restart,
//! and the cause.
//! Invariant: the names of [`Stage`] and [`Executed`] are stable and the same in Rust, Python and Node.

use std::fmt;

use serde::{Serialize, Serializer};

use super::Error;
#[cfg(test)]
use super::generated::{FieldInfo, FieldType, ObjectInfo};

/// Declares an enum whose variants have stable names.
macro_rules! named_variants {
    (
        #[doc = $about_enum:literal]
        $(#[$of_enum:meta])*
        pub enum $Enum:ident {
            $($(#[$about:meta])+ $variant:ident $name:literal,)*
        }
    ) => {
        #[doc = $about_enum]
        $(#[$of_enum])*
        pub enum $Enum {
            $($(#[$about])+ $variant,)*
        }

        impl $Enum {
            #[cfg(test)]
            pub(super) const NAMES: &'static [&'static str] = &[$($name,)*];
            #[cfg(test)]
            pub(super) const ABOUT: &'static str = $about_enum.trim_ascii_start();

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self { $($Enum::$variant => $name,)* }
            }

            /// The variant of a stable name.
            pub fn from_name(name: &str) -> Option<$Enum> {
                match name {
                    $($name => Some($Enum::$variant),)*
                    _ => None,
                }
            }
        }

        impl Serialize for $Enum {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

named_variants! {
    /// The step that failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Stage {
        /// Resolving the values of the definition.
        Resolve "resolve",
        /// Finding and starting the program.
        Spawn "spawn",
        /// Reaching the server over the network.
        Dial "dial",
        /// `initialize`.
        Handshake "handshake",
        /// The first tool list.
        ListTools "list_tools",
        /// A tool call.
        Call "call",
    }
}

named_variants! {
    /// Whether the tool ran, as far as can be known when a call fails.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Executed {
        /// It provably was never sent, or never read.
        No "no",
        /// The server answered.
        Yes "yes",
        /// It was sent, and the outcome is unknown.
        Unknown "unknown",
    }
}

/// Declares a struct that is the value of a field, with a description of each of its own fields.
macro_rules! field_object {
    (
        pub struct $Object:ident $about:literal {
            $($(#[$of_field:meta])* $field:ident $field_about:literal: $Type:ty,)*
        }
    ) => {
        #[doc = $about]
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[non_exhaustive]
        pub struct $Object {
            $(#[doc = $field_about] $(#[$of_field])* pub $field: $Type,)*
        }

        #[cfg(test)]
        impl $Object {
            pub(super) const INFO: ObjectInfo = ObjectInfo {
                name: stringify!($Object),
                about: $about,
                fields: &[$(FieldInfo {
                    name: stringify!($field),
                    kind: <$Type as FieldType>::KIND,
                    about: $field_about,
                    is_optional: <$Type as FieldType>::IS_OPTIONAL,
                },)*],
            };
        }
    };
}

field_object! {
    pub struct RpcError "The error object of a JSON-RPC answer, as the server sent it." {
        code "The JSON-RPC error code.": i64,
        message "The server's message.": String,
        #[serde(skip_serializing_if = "Option::is_none")]
        data "Other data from the server; data over the `textBytes` limit becomes the beginning of its JSON text.":
            Option<serde_json::Value>,
    }
}

field_object! {
    pub struct Restart "The state of a restart, for a call whose server is down." {
        attempt "The number of attempts since the server was last stable.": u32,
        next_retry_ms "When the next attempt is due, in milliseconds from then; none while one is running.":
            Option<u64>,
        last_error "How the last attempt failed.": Option<Error>,
    }
}

/// The cause of an error.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Cause {
    /// Another mcpool error: the server's failure behind the error of a call.
    Error(Error),
    /// An error of the system or of a library.
    Foreign(ForeignError),
}

/// An error of the system or of a library, without the values that the server was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ForeignError {
    /// Its message.
    pub message: String,
    /// Its errno.
    pub errno: Option<i32>,
}

impl Cause {
    /// The source of an error, as the standard library has it.
    pub(super) fn as_std(&self) -> &(dyn std::error::Error + 'static) {
        match self {
            Cause::Error(error) => error,
            Cause::Foreign(error) => error,
        }
    }
}

impl From<Error> for Cause {
    fn from(error: Error) -> Self {
        Cause::Error(error)
    }
}

impl From<ForeignError> for Cause {
    fn from(error: ForeignError) -> Self {
        Cause::Foreign(error)
    }
}

/// Needs no mask: the message of an I/O error contains no value of a definition. Other errors are masked before they become
/// a [`ForeignError`].
impl From<&std::io::Error> for Cause {
    fn from(error: &std::io::Error) -> Self {
        Cause::Foreign(ForeignError { message: error.to_string(), errno: error.raw_os_error() })
    }
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ForeignError {}
