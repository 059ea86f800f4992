//! Owns the values of options: how each type is read from JSON, what an error says that it must be, and how its default is
//! written. Leaves the types that belong to one stage to that stage.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::Value;

use super::Language;

/// What the values of an option are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionKind {
    /// True or false.
    Flag,
    /// A whole number, 0 or more.
    Count,
    /// A time: seconds in Python, milliseconds in JavaScript.
    Time,
    /// A time, or one of these words.
    TimeOrWords(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A JSON object.
    Object,
    /// A text; what it must be, for errors.
    Text(&'static str),
    /// Headers: names and texts.
    Headers,
    /// Headers, or the headers of a server under its name.
    HeadersByServer,
    /// One of these words.
    Words(&'static [&'static str]),
    /// True, false, or one of these words.
    FlagOrWords(&'static [&'static str]),
    /// A path.
    Path,
    /// A path, or false for none.
    PathOrFalse,
    /// A function of the type that every language declares under this name.
    Function(&'static str),
    /// A type that every language declares under this name: one of these words, or a function.
    WordsOrFunction(&'static str, &'static [&'static str]),
    /// A pool.
    Pool,
    /// An object of the type that every language declares under this name; the text says what its values are.
    Declared(&'static str, &'static str),
}

impl OptionKind {
    /// Whether its values have a unit.
    pub fn is_time(self) -> bool {
        matches!(self, OptionKind::Time | OptionKind::TimeOrWords(_))
    }

    /// Whether a value can be a function, which JSON cannot represent.
    pub fn takes_function(self) -> bool {
        matches!(self, OptionKind::Function(_) | OptionKind::WordsOrFunction(..))
    }

    /// What a value must be, for errors.
    pub(crate) fn expected(self, language: Language) -> String {
        let time = match language {
            Language::Python => "a number of seconds",
            Language::Node => "a number of milliseconds",
        };
        let in_quotes = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| format!("\"{word}\"")).collect()
        };
        let quoted = |words: &[&str]| {
            let words = in_quotes(words);
            match words.as_slice() {
                [others @ .., last] if !others.is_empty() => {
                    format!("{} or {last}", others.join(", "))
                }
                words => words.concat(),
            }
        };
        match self {
            OptionKind::Flag => "true or false".to_owned(),
            OptionKind::Count => "a whole number, 0 or more".to_owned(),
            OptionKind::Time => time.to_owned(),
            OptionKind::TimeOrWords(words) => format!("{time} or {}", quoted(words)),
            OptionKind::Texts => "a list of texts".to_owned(),
            OptionKind::Object => "an object".to_owned(),
            OptionKind::Text(expected) => expected.to_owned(),
            OptionKind::Headers | OptionKind::HeadersByServer => {
                "an object whose values are texts".to_owned()
            }
            OptionKind::Words(words) => quoted(words),
            OptionKind::FlagOrWords(words) => format!("true, false or {}", quoted(words)),
            OptionKind::Path => "a path".to_owned(),
            OptionKind::PathOrFalse => "a path or false".to_owned(),
            OptionKind::Function(_) => "a function".to_owned(),
            OptionKind::WordsOrFunction(_, words) => {
                format!("{} or a function", in_quotes(words).join(", "))
            }
            OptionKind::Pool => "a Pool".to_owned(),
            OptionKind::Declared(_, expected) => expected.to_owned(),
        }
    }
}

/// In place of a value that JSON does not have, a language writes an object with this key; it says what was given.
/// Its NUL character tells it from what a user writes.
pub const NO_JSON: &str = "\0noJson";

/// The value of an option, as another language gives it.
pub enum Given {
    /// Parsed.
    Value(Value),
    /// Compact JSON text whose writer is trusted to write valid JSON.
    Json(Vec<u8>),
}

impl Given {
    /// What was given, if JSON does not have it.
    pub(crate) fn no_json(&self) -> Option<String> {
        let Given::Json(json) = self else { return None };
        if !json.starts_with(b"{\"\\u0000noJson\":") {
            return None;
        }
        let mut stand_in: serde_json::Map<String, Value> = serde_json::from_slice(json).ok()?;
        let given = stand_in.remove(NO_JSON).filter(|_| stand_in.is_empty());
        given.as_ref().and_then(Value::as_str).map(str::to_owned)
    }

    /// What the value is, in the words of the language; the value itself is not shown.
    pub(crate) fn kind(&self) -> GivenKind {
        match self {
            Given::Value(Value::String(_)) => GivenKind::Text,
            Given::Value(_) => GivenKind::Number,
            Given::Json(json) => match json.first() {
                Some(b'"') => GivenKind::Text,
                Some(b't' | b'f') => GivenKind::Flag,
                Some(b'[') => GivenKind::List,
                Some(b'{') => GivenKind::Object,
                _ => GivenKind::Number,
            },
        }
    }
}

/// What a value is, without the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenKind {
    Text,
    Flag,
    List,
    Object,
    Number,
}

impl GivenKind {
    /// The end of "must be …": what is expected, and what was given instead if that is of another kind.
    pub(crate) fn instead_of(self, expected: &str, language: Language) -> String {
        let (in_python, in_node, is_expected) = match self {
            GivenKind::Text => {
                let is_expected = expected.contains('"') || expected.starts_with("a path");
                ("a str", "a string", is_expected || expected.starts_with("a text"))
            }
            GivenKind::Flag => ("a bool", "a boolean", expected.starts_with("true")),
            GivenKind::List => ("a list", "an array", expected.starts_with("a list")),
            GivenKind::Object => ("a dict", "an object", expected.starts_with("an object")),
            GivenKind::Number => ("a number", "a number", expected.contains("number")),
        };
        // A number that is not accepted is out of the range of a time.
        let is_time = self == GivenKind::Number && expected.starts_with("a number of");
        match (is_expected, language) {
            (true, _) if is_time => format!("{expected}, from 0 to 1e19"),
            (true, _) => expected.to_owned(),
            (false, Language::Python) => format!("{expected}, not {in_python}"),
            (false, Language::Node) => format!("{expected}, not {in_node}"),
        }
    }
}

/// A type that an option can have.
pub(crate) trait OptionValue: Sized {
    fn kind() -> OptionKind;

    /// The given value; the error says what it must be.
    fn read_given(given: Given, language: Language) -> Result<Self, String> {
        match given {
            Given::Value(value) => Self::read(value, language),
            Given::Json(json) => match serde_json::from_slice(&json) {
                Ok(value) => Self::read(value, language),
                Err(_) => Err(Self::kind().expected(language)),
            },
        }
    }

    /// The value of this JSON, which is not null; the error says what it must be.
    fn read(value: Value, language: Language) -> Result<Self, String> {
        Self::from_value(&value, language).ok_or_else(|| Self::kind().expected(language))
    }

    fn from_value(value: &Value, language: Language) -> Option<Self>;

    /// The JSON of a default, times in milliseconds; null for none.
    fn to_json(&self) -> Value {
        Value::Null
    }
}

impl OptionValue for bool {
    fn kind() -> OptionKind {
        OptionKind::Flag
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        value.as_bool()
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

impl OptionValue for usize {
    fn kind() -> OptionKind {
        OptionKind::Count
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        value.as_u64().and_then(|count| count.try_into().ok())
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

impl OptionValue for Duration {
    fn kind() -> OptionKind {
        OptionKind::Time
    }

    fn from_value(value: &Value, language: Language) -> Option<Self> {
        let number = value.as_f64()?;
        let seconds = match language {
            Language::Python => number,
            Language::Node => number / 1000.0,
        };
        Duration::try_from_secs_f64(seconds).ok()
    }

    fn to_json(&self) -> Value {
        u64::try_from(self.as_millis()).map_or(Value::Null, Value::from)
    }
}

impl OptionValue for Vec<String> {
    fn kind() -> OptionKind {
        OptionKind::Texts
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        Vec::deserialize(value).ok()
    }
}

impl OptionValue for PathBuf {
    fn kind() -> OptionKind {
        OptionKind::Path
    }

    fn from_value(value: &Value, _: Language) -> Option<Self> {
        value.as_str().map(PathBuf::from)
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    fn kind() -> OptionKind {
        T::kind()
    }

    fn read_given(given: Given, language: Language) -> Result<Self, String> {
        T::read_given(given, language).map(Some)
    }

    fn read(value: Value, language: Language) -> Result<Self, String> {
        T::read(value, language).map(Some)
    }

    fn from_value(value: &Value, language: Language) -> Option<Self> {
        T::from_value(value, language).map(Some)
    }

    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}

/// Makes enums without data options whose values are their words.
macro_rules! word_options {
    ($($type:ty),*) => {$(
        impl $crate::options::OptionValue for $type {
            fn kind() -> $crate::options::OptionKind {
                $crate::options::OptionKind::Words($crate::options::words_of::<$type>())
            }

            fn from_value(
                value: &serde_json::Value,
                _: $crate::options::Language,
            ) -> Option<Self> {
                serde::Deserialize::deserialize(value).ok()
            }

            fn to_json(&self) -> serde_json::Value {
                let is_it = |word: &&&str| {
                    <$type as serde::Deserialize>::deserialize(serde_json::Value::from(**word))
                        .is_ok_and(|value| value == *self)
                };
                $crate::options::words_of::<$type>().iter().find(is_it).copied().into()
            }
        }
    )*};
}
pub(crate) use word_options;

/// The words that an enum is written with, as its derived `Deserialize` knows them.
pub(crate) fn words_of<T: DeserializeOwned>() -> &'static [&'static str] {
    match T::deserialize(AskForWords) {
        Err(Words(words)) => words,
        Ok(_) => &[],
    }
}

struct AskForWords;

#[derive(Debug)]
struct Words(&'static [&'static str]);

impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl std::error::Error for Words {}

impl serde::de::Error for Words {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Words(&[])
    }
}

impl<'de> Deserializer<'de> for AskForWords {
    type Error = Words;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Words> {
        Err(Words(&[]))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Words> {
        Err(Words(words))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
