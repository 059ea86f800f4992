//! Reads and writes the plain kinds of values: switches, counts, times and words.

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use super::field::Codec;
use super::reader::FieldReader;
use super::shape::ValueShape;
use crate::error::Result;
use crate::redact::Secret;

/// True or false.
pub(super) struct Switch;

impl Codec for Switch {
    type Value = bool;
    const SHAPE: ValueShape = ValueShape::Switch;

    fn read(reader: &mut FieldReader<'_>, key: &str, default: bool) -> Result<bool> {
        Ok(reader.switch(key, default))
    }

    fn write(value: &bool) -> Value {
        (*value).into()
    }
}

/// A whole number above 0.
pub(super) struct Count;

impl Codec for Count {
    type Value = usize;
    const SHAPE: ValueShape = ValueShape::Integer { least: 1 };

    fn read(reader: &mut FieldReader<'_>, key: &str, default: usize) -> Result<usize> {
        Ok(reader.count(key, &format!("{default} is used")).unwrap_or(default))
    }

    fn write(value: &usize) -> Value {
        (*value).into()
    }
}

/// A whole number above 0, or no bound.
pub(super) struct Bound;

impl Codec for Bound {
    type Value = Option<usize>;
    const SHAPE: ValueShape = Count::SHAPE;

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<usize>,
    ) -> Result<Option<usize>> {
        Ok(reader.count(key, "there is no bound").or(default))
    }

    fn write(value: &Option<usize>) -> Value {
        (*value).into()
    }
}

/// A time above 0, in milliseconds.
pub(super) struct Millis;

impl Codec for Millis {
    type Value = Duration;
    const SHAPE: ValueShape = ValueShape::Integer { least: 1 };

    fn read(reader: &mut FieldReader<'_>, key: &str, default: Duration) -> Result<Duration> {
        let otherwise = format!("{} is used", millis(default));
        Ok(reader.millis(key, &otherwise).unwrap_or(default))
    }

    fn write(value: &Duration) -> Value {
        millis(*value).into()
    }
}

/// A time above 0, in milliseconds, or off.
pub(super) struct Interval;

impl Codec for Interval {
    type Value = Option<Duration>;
    const SHAPE: ValueShape = Millis::SHAPE;

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<Duration>,
    ) -> Result<Option<Duration>> {
        Ok(reader.millis(key, "it is off").or(default))
    }

    fn write(value: &Option<Duration>) -> Value {
        value.map(millis).into()
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A text; absent when not written.
pub(super) struct Text;

impl Codec for Text {
    type Value = Option<String>;
    const SHAPE: ValueShape = ValueShape::TEXT;

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<String>,
    ) -> Result<Option<String>> {
        Ok(reader.string(key)?.filter(|text| !text.is_empty()).or(default))
    }

    fn write(value: &Option<String>) -> Value {
        value.as_deref().map(Value::from).unwrap_or_default()
    }
}

/// A text that is never shown; absent when not written.
pub(super) struct SecretText;

impl Codec for SecretText {
    type Value = Option<Secret>;
    const SHAPE: ValueShape = ValueShape::TEXT;

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<Secret>,
    ) -> Result<Option<Secret>> {
        Ok(reader.string(key)?.filter(|text| !text.is_empty()).map(Secret::new).or(default))
    }

    fn write(value: &Option<Secret>) -> Value {
        value.as_ref().map(|text| text.expose().into()).unwrap_or_default()
    }
}

/// A choice that is written as a word; `keywords!` declares one.
pub(super) trait Keyword: Copy + PartialEq + 'static {
    const NAMES: &'static [&'static str];
    const ALL: &'static [Self];

    fn word(self) -> &'static str;
}

/// One of the words of a choice.
pub(super) struct OneOf<T>(PhantomData<T>);

impl<T: Keyword> Codec for OneOf<T> {
    type Value = T;
    const SHAPE: ValueShape = ValueShape::Words(T::NAMES);

    fn read(reader: &mut FieldReader<'_>, key: &str, default: T) -> Result<T> {
        let Some(written) = reader.take(key) else { return Ok(default) };
        let choice = T::ALL.iter().find(|choice| written == choice.word());
        if choice.is_none() {
            let names = T::NAMES.join(", ");
            reader.warn_of(key, &format!("must be one of {names}; {} is used", default.word()));
        }
        Ok(choice.copied().unwrap_or(default))
    }

    fn write(value: &T) -> Value {
        value.word().into()
    }
}

/// Declares an enum whose variants are written as words.
macro_rules! keywords {
    ($(#[$about:meta])* pub enum $Enum:ident { $($(#[$each:meta])* $Variant:ident $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Enum {
            $($(#[$each])* $Variant,)*
        }

        impl $Enum {
            /// The name used in configs.
            pub fn name(self) -> &'static str {
                match self { $($Enum::$Variant => $word,)* }
            }
        }

        impl $crate::config::codec::Keyword for $Enum {
            const NAMES: &'static [&'static str] = &[$($word,)*];
            const ALL: &'static [Self] = &[$($Enum::$Variant,)*];

            fn word(self) -> &'static str {
                self.name()
            }
        }
    };
}

pub(super) use keywords;
