//! Owns how options are declared: one table for each struct, with the name, type, default and description of every option.
//! The struct, its `Default`, its setters, its reading from JSON and the metadata in `OPTIONS` derive from the table; the
//! types and the docs of the other languages are generated from the metadata (`manager/options/generated.rs`).
//! Leaves which options there are to `manager/options`, `discover/options`, `pool`, `call` and `edit/target`.
//! Invariant: an option that cannot be used is refused by the name that the caller wrote, and its value is never shown.

use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::camel_case::camel_case;
use crate::error::{Error, ErrorKind, Result};
use crate::similar::most_similar;

mod value;

pub use value::{Given, NO_JSON, OptionKind};
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

/// Declares a struct of options; `of` names its owner in errors. Each option has a setter, so that the struct can grow
/// without breaking its users. Options after a first semicolon get no setter; fields after a second one are not options of
/// other languages.
macro_rules! options {
    (
        $(#[$of_struct:meta])*
        pub struct $name:ident of $owner:literal {
            $($(#[doc = $about:literal])+ $field:ident: $type:ty = $default:expr,)*
            $(;
                $($(#[doc = $other_about:literal])+ $other:ident: $other_type:ty = $other_default:expr,)*
                $(; $($(#[$of_extra:meta])+ $extra:ident: $extra_type:ty = $extra_default:expr,)*)?
            )?
        }
    ) => {
        $(#[$of_struct])*
        pub struct $name {
            $($(#[doc = $about])+ pub $field: $type,)*
            $(
                $($(#[doc = $other_about])+ pub $other: $other_type,)*
                $($($(#[$of_extra])+ pub $extra: $extra_type,)*)?
            )?
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: $default,)*
                    $(
                        $($other: $other_default,)*
                        $($($extra: $extra_default,)*)?
                    )?
                }
            }
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

            /// The declarations of all options, in the order of the table.
            #[doc(hidden)]
            pub const OPTIONS: &'static [$crate::options::OptionInfo] = &[
                $($crate::options::option_info!($field: $type = $default, $($about),+),)*
                $($($crate::options::option_info!(
                    $other: $other_type = $other_default, $($other_about),+
                ),)*)?
            ];
        }

        impl $crate::options::Options for $name {
            const OWNER: &'static str = $owner;
            const TABLE: &'static [$crate::options::OptionInfo] = $name::OPTIONS;

            fn set(
                &mut self,
                option: &str,
                given: $crate::options::Given,
                language: $crate::options::Language,
            ) -> std::result::Result<(), String> {
                match option {
                    $(stringify!($field) => {
                        self.$field = $crate::options::OptionValue::read_given(given, language)?;
                    })*
                    $($(stringify!($other) => {
                        self.$other = $crate::options::OptionValue::read_given(given, language)?;
                    })*)?
                    _ => {}
                }
                Ok(())
            }
        }
    };
}
pub(crate) use options;

macro_rules! option_info {
    ($field:ident: $type:ty = $default:expr, $($about:literal),+) => {
        $crate::options::OptionInfo {
            name: stringify!($field),
            kind: <$type as $crate::options::OptionValue>::kind,
            default: || {
                let default: $type = $default;
                $crate::options::OptionValue::to_json(&default)
            },
            about: concat!($($about),+).trim_ascii_start(),
        }
    };
}
pub(crate) use option_info;

/// A struct that [`options!`] declares.
pub(crate) trait Options: Default {
    /// Whose options they are, for errors.
    const OWNER: &'static str;
    const TABLE: &'static [OptionInfo];

    /// Sets one option; the error says what its value must be.
    fn set(
        &mut self,
        option: &str,
        given: Given,
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
    /// Kept as text until they are read, so that an unreadable value is refused by the name of its option.
    values: IndexMap<String, Box<RawValue>>,
}

impl Written {
    pub(crate) fn parse(owner: &'static str, text: &str, language: Language) -> Result<Written> {
        let values = serde_json::from_str(text).map_err(|_| {
            invalid(format!("The options of {owner} must be an object with names and values"))
        })?;
        Ok(Written { owner, language, values })
    }

    /// Removes an option; returns whether it was given.
    pub(crate) fn take(&mut self, option: &str) -> bool {
        self.values.shift_remove(option).is_some_and(|value| !is_null(&value))
    }

    /// Refuses names that none of these options has.
    pub(crate) fn check_names<'a>(
        &self,
        known: impl Iterator<Item = &'a OptionInfo> + Clone,
    ) -> Result<()> {
        match self.unknown_name(known.clone()) {
            Some(unknown) => {
                let error = invalid(format!("There is no option \"{unknown}\" of {}", self.owner));
                Err(error.with_hint(suggest_option(unknown, known, self.language)))
            }
            None => Ok(()),
        }
    }

    /// The first name that none of these options has.
    pub(crate) fn unknown_name<'a>(
        &self,
        known: impl Iterator<Item = &'a OptionInfo> + Clone,
    ) -> Option<&str> {
        let is_known = |name: &str| known.clone().any(|it| it.name_in(self.language) == name);
        self.values.keys().map(String::as_str).find(|name| !is_known(name))
    }

    /// The options of one struct; those of others are left alone.
    pub(crate) fn options<T: Options>(&self) -> Result<T> {
        let mut options = T::default();
        for option in T::TABLE {
            let name = option.name_in(self.language);
            let Some(value) = self.values.get(&name).filter(|value| !is_null(value)) else {
                continue;
            };
            let given = Given::Json(value.get().as_bytes().to_vec());
            set_option(&mut options, option, self.owner, given, self.language).map_err(invalid)?;
        }
        Ok(options)
    }
}

/// Sets one option; the error is a sentence with its name and owner.
pub(crate) fn set_option<T: Options>(
    options: &mut T,
    option: &OptionInfo,
    owner: &str,
    given: Given,
    language: Language,
) -> std::result::Result<(), String> {
    let refusal = |expected: String| {
        format!("The option \"{}\" of {owner} must be {expected}", option.name_in(language))
    };
    if let Some(given) = given.no_json() {
        return Err(refusal(format!("{}, not {given}", (option.kind)().expected(language))));
    }
    let kind = given.kind();
    let set = options.set(option.name, given, language);
    set.map_err(|expected| refusal(kind.instead_of(&expected, language)))
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// Former names of options.
const RENAMED: [(&str, &str); 1] = [("surroundings", "host_env")];

/// A name without the unit at its end.
pub(crate) fn without_unit(name: &str) -> &str {
    name.strip_suffix("_ms").or_else(|| name.strip_suffix("Ms")).unwrap_or(name)
}

/// The hint for a name that none of these options has: the likeliest of them, or all.
pub fn suggest_option<'a>(
    name: &str,
    known: impl Iterator<Item = &'a OptionInfo>,
    language: Language,
) -> String {
    let mut options: IndexMap<String, &OptionInfo> = IndexMap::new();
    for option in known {
        options.entry(option.name_in(language)).or_insert(option);
    }
    // The same name in another unit is the likeliest mistake, and the one that costs a factor of a thousand.
    let bare = without_unit(name);
    let other_unit = options.iter().find(|(_, option)| {
        (option.kind)().is_time() && (bare == option.name || bare == camel_case(option.name))
    });
    if let Some((meant, _)) = other_unit {
        let unit = match language {
            Language::Python => "seconds",
            Language::Node => "milliseconds",
        };
        return format!("did you mean \"{meant}\", in {unit}?");
    }
    let is_renamed = |option: &OptionInfo| RENAMED.contains(&(name, option.name));
    let renamed =
        options.iter().find(|(_, option)| is_renamed(option)).map(|(now, _)| now.as_str());
    let names = || options.keys().map(String::as_str);
    // Without its unit too: `timout` is `timeoutMs`.
    let without_units = names().map(|name| (without_unit(name), name));
    let candidates = names().map(|name| (name, name)).chain(without_units);
    match renamed.or_else(|| most_similar(name, candidates)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("the options are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

fn invalid(text: String) -> Error {
    Error::new(ErrorKind::ConfigInvalid, text)
}
