//! What the bindings are made of: queues into host loops, questions to a host, options as JSON, logs and the runtime. And
//! what tests have to know of the process.
//! It changes with the bindings and is not part of the crate's stable interface.

pub use crate::mailbox::{Address, Letter, Mailbox, RawDescriptor};
pub use crate::manager::CallHandle;
pub use crate::options::{Given, Language, NO_JSON, OptionInfo, OptionKind, suggest_option};
pub use crate::platform::portable;
pub use crate::question::{Listening, Questions, Taken};
pub use crate::result::{CallFailure, Origin};

/// The one of these names that `wanted` was most likely meant to be.
pub fn similar_name<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    crate::similar::did_you_mean(wanted, names)
}

/// Log records for a host language.
pub mod logs {
    pub use crate::logs::*;
}

/// The runtime behind all verbs.
pub mod runtime {
    pub use crate::runtime::*;
}
