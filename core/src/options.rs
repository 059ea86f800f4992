//! Owns how options are declared: one table for each struct, with the name, type, default and description of every option.
//! The struct, its `Default`, its setters, its reading from JSON and the metadata in `OPTIONS` derive from the table; the
//! types and the docs of the other languages are generated from the metadata (`manager/options/generated.rs`).
//! Leaves which options there are to `manager/options`, `discover/options` and `pool`.
//! Invariant: an option that cannot be used is refused by the name that the caller wrote, and its value is never shown.

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::similar::did_you_mean;

mod value;

pub use value::OptionKind;
pub(crate) use value::{OptionValue, word_options, words_of};

/// The language whose names and units the JSON of options has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `restart_wait`, in seconds.
    Python,
    /// `restartWaitMs`, in milliseconds.
    Node,
}

/// The declaration of one option.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct OptionInfo {
    /// Its name in Rust.
    pub name: &'static str,
    /// What its values are.
    pub kind: fn() -> OptionKind,
    /// The default, times in milliseconds; null for none.
    pub default: fn() -> Value,
    /// What it does.
    pub about: &'static str,
}

impl OptionInfo {
    /// Its name in a language; where times are in milliseconds, the name says so.
    pub fn name_in(&self, language: Language) -> String {
        match language {
            Language::Python => self.name.to_owned(),
            Language::Node if (self.kind)().is_time() => camel_case(self.name) + "Ms",
            Language::Node => camel_case(self.name),
        }
    }
}

/// `restart_wait` as `restartWait`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name + &initial.to_uppercase() + rest
    })
}

/// A struct with a setter for each field, so that it can grow without breaking its users. Fields after a semicolon have
/// setters of their own.
macro_rules! with_setters {
    (
        $(#[$of_struct:meta])*
        pub struct $name:ident {
            $($(#[doc = $about:literal])+ $field:ident: $type:ty,)*
            $(; $($(#[$of_other:meta])+ $other:ident: $other_type:ty,)*)?
        }
    ) => {
        $(#[$of_struct])*
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $about])+ pub $field: $type,)*
            $($($(#[$of_other])+ pub $other: $other_type,)*)?
        }

        impl $name {
            $(
                $(#[doc = $about])+
                #[must_use]
                pub fn $field(mut self, $field: impl Into<$type>) -> Self {
                    self.$field = $field.into();
                    self
                }
            )*
        }
    };
}
pub(crate) use with_setters;

/// Declares a struct of options; `of` names its owner in errors.
macro_rules! options {
    (
        $(#[$of_struct:meta])*
        pub struct $name:ident of $owner:literal {
            $($(#[doc = $about:literal])+ $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $crate::options::with_setters! {
            $(#[$of_struct])*
            pub struct $name {
                $($(#[doc = $about])+ $field: $type,)*
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $name {
            /// The declarations of all options, in the order of the table.
            #[doc(hidden)]
            pub const OPTIONS: &'static [$crate::options::OptionInfo] = &[$(
                $crate::options::OptionInfo {
                    name: stringify!($field),
                    kind: <$type as $crate::options::OptionValue>::kind,
                    default: || {
                        let default: $type = $default;
                        $crate::options::OptionValue::to_json(&default)
                    },
                    about: concat!($($about),+).trim_ascii_start(),
                },
            )*];
        }

        impl $crate::options::Options for $name {
            const OWNER: &'static str = $owner;
            const TABLE: &'static [$crate::options::OptionInfo] = $name::OPTIONS;

            fn set(
                &mut self,
                option: &str,
                value: serde_json::Value,
                language: $crate::options::Language,
            ) -> std::result::Result<(), String> {
                match option {
                    $(stringify!($field) => {
                        self.$field = $crate::options::OptionValue::read(value, language)?;
                    })*
                    _ => {}
                }
                Ok(())
            }
        }
    };
}
pub(crate) use options;

/// A struct that [`options!`] declares.
pub(crate) trait Options: Default {
    /// Whose options they are, for errors.
    const OWNER: &'static str;
    const TABLE: &'static [OptionInfo];

    /// Sets one option; the error says what its value must be.
    fn set(
        &mut self,
        option: &str,
        value: Value,
        language: Language,
    ) -> std::result::Result<(), String>;

    /// Reads an object that has no other options; what is left out or null is the default.
    fn read(text: &str, language: Language) -> Result<Self> {
        let written = Written::parse(Self::OWNER, text, language)?;
        written.check_names(Self::TABLE.iter())?;
        written.options()
    }
}

/// An object of options as a language wrote it.
pub(crate) struct Written {
    owner: &'static str,
    language: Language,
    values: Map<String, Value>,
}

impl Written {
    pub(crate) fn parse(owner: &'static str, text: &str, language: Language) -> Result<Written> {
        let values = serde_json::from_str(text).map_err(|_| {
            invalid(format!("The options of {owner} must be an object with names and values"))
        })?;
        Ok(Written { owner, language, values })
    }

    /// Whether an option is given.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.values.get(option).is_some_and(|value| !value.is_null())
    }

    /// Refuses names that none of these options has.
    pub(crate) fn check_names<'a>(
        &self,
        known: impl Iterator<Item = &'a OptionInfo>,
    ) -> Result<()> {
        let names: Vec<(String, &OptionInfo)> =
            known.map(|option| (option.name_in(self.language), option)).collect();
        match self.values.keys().find(|name| !names.iter().any(|(known, _)| known == *name)) {
            Some(unknown) => Err(self.unknown(unknown, &names)),
            None => Ok(()),
        }
    }

    /// The options of one struct; those of others are left alone.
    pub(crate) fn options<T: Options>(&self) -> Result<T> {
        let mut options = T::default();
        for option in T::TABLE {
            let name = option.name_in(self.language);
            let Some(value) = self.values.get(&name).filter(|value| !value.is_null()) else {
                continue;
            };
            options.set(option.name, value.clone(), self.language).map_err(|expected| {
                invalid(format!("The option \"{name}\" of {} must be {expected}", self.owner))
            })?;
        }
        Ok(options)
    }

    fn unknown(&self, name: &str, known: &[(String, &OptionInfo)]) -> Error {
        let error = invalid(format!("There is no option \"{name}\" of {}", self.owner));
        // The same name in another unit is the likeliest mistake, and the one that costs a factor of a thousand.
        let bare = name.strip_suffix("_ms").or_else(|| name.strip_suffix("Ms")).unwrap_or(name);
        let other_unit = known.iter().find(|(_, option)| {
            (option.kind)().is_time() && (bare == option.name || bare == camel_case(option.name))
        });
        if let Some((meant, _)) = other_unit {
            let unit = match self.language {
                Language::Python => "seconds",
                Language::Node => "milliseconds",
            };
            return error.with_hint(format!("did you mean \"{meant}\", in {unit}?"));
        }
        let names = || known.iter().map(|(name, _)| name.as_str());
        error.with_hint(match did_you_mean(name, names()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("the options are {}", names().collect::<Vec<_>>().join(", ")),
        })
    }
}

fn invalid(text: String) -> Error {
    Error::new(ErrorKind::ConfigInvalid, text)
}
