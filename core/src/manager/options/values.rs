//! Owns reading the option types of a manager from JSON, and their error texts. Functions and pools cannot be written
//! in JSON; the bindings set them.

use serde_json::Value;

use super::{CacheDir, PendingWithoutCache, Telemetry};
use crate::approval::{ApprovalPolicy, OnApproval};
use crate::catalog::{DriftPolicy, Naming};
use crate::options::{Language, OptionKind, OptionValue, word_options};
use crate::pool::Pool;
use crate::result::Spill;
use crate::trust::Trust;

word_options!(ApprovalPolicy, DriftPolicy, PendingWithoutCache, Spill);

impl OptionValue for Naming {
    fn kind() -> OptionKind {
        OptionKind::WordsOrFunction("Naming", &["plain", "letters", "double", "raw"])
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        value.as_str().and_then(|style| Naming::from_style(style).ok())
    }

    fn to_json(&self) -> Value {
        format!("{self:?}").to_lowercase().into()
    }
}

impl OptionValue for Trust {
    fn kind() -> OptionKind {
        OptionKind::WordsOrFunction("Trust", &["stored", "strict", "all", "none"])
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        match value.as_str()? {
            "stored" => Some(Trust::Stored),
            "strict" => Some(Trust::Strict),
            "all" => Some(Trust::All),
            "none" => Some(Trust::None),
            _ => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Trust::Stored => "stored".into(),
            Trust::Strict => "strict".into(),
            Trust::All => "all".into(),
            Trust::None => "none".into(),
            Trust::Ask(_) => Value::Null,
        }
    }
}

impl OptionValue for CacheDir {
    fn kind() -> OptionKind {
        OptionKind::PathOrFalse
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        match value {
            Value::Bool(false) => Some(CacheDir::Off),
            Value::String(path) => Some(CacheDir::At(path.into())),
            _ => None,
        }
    }
}

impl OptionValue for Telemetry {
    fn kind() -> OptionKind {
        OptionKind::FlagOrWords(&["error_messages"])
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        match value {
            Value::Bool(true) => Some(Telemetry::Codes),
            Value::Bool(false) => Some(Telemetry::Off),
            Value::String(word) if word == "error_messages" => Some(Telemetry::ErrorMessages),
            _ => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Telemetry::Off => false.into(),
            Telemetry::Codes => true.into(),
            Telemetry::ErrorMessages => "error_messages".into(),
        }
    }
}

impl OptionValue for OnApproval {
    fn kind() -> OptionKind {
        OptionKind::Function("OnApproval")
    }

    fn from_value(_: &Value, _: Language) -> Option<Self> {
        None
    }
}

impl OptionValue for Pool {
    fn kind() -> OptionKind {
        OptionKind::Pool
    }

    fn from_value(_: &Value, _: Language) -> Option<Self> {
        None
    }
}
