//! Declares the fields of a config object once: `config_fields!` turns a table of rows into the struct, its reading, its
//! canonical writing, its differences and the list of fields. The JSON Schema, the TypeScript and Python types and the
//! table in the docs are made from that list (`schema`, `generated`).
//! A [`Codec`] reads and writes one kind of value; a field of the struct that is written as several fields of the file
//! has a [`FieldGroup`].
//! Invariant: an absent field means its default, and a default is never written.

use serde_json::{Map, Value};

use super::reader::FieldReader;
use super::shape::ValueShape;
use crate::error::Result;

/// What a change of the field means for a connection that is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A different server: what is started or dialled changes.
    Identity,
    /// The connection stays, with changed settings.
    Setting,
    /// Each manager decides for itself.
    View,
}

/// One field as it is written in a file.
pub(super) struct Field {
    pub(super) name: &'static str,
    about: &'static str,
    pub(super) shape: ValueShape,
    pub(super) default: FieldDefault,
    /// Whether the object is incomplete without it.
    pub(super) is_required: bool,
    /// Another spelling, which is read but never written.
    pub(super) is_deprecated: bool,
}

/// What an absent field means.
#[cfg_attr(not(test), expect(dead_code, reason = "`generated` uses the words"))]
#[derive(Clone, Copy)]
pub(super) enum FieldDefault {
    /// Nothing.
    Absent,
    /// This value.
    Value(fn() -> Value),
    /// A description for people: it depends on other fields, or the feature is off.
    Words(&'static str),
}

impl Field {
    pub(super) const fn new(name: &'static str, shape: ValueShape, about: &'static str) -> Self {
        Field {
            name,
            about,
            shape,
            default: FieldDefault::Absent,
            is_required: false,
            is_deprecated: false,
        }
    }

    pub(super) const fn or(mut self, default: FieldDefault) -> Self {
        self.default = default;
        self
    }

    pub(super) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    pub(super) const fn deprecated(mut self) -> Self {
        self.is_deprecated = true;
        self
    }

    /// What it means, in Markdown.
    pub(super) fn about(&self) -> &'static str {
        self.about.trim()
    }

    /// The value of an absent field, if the default is one.
    pub(super) fn default_value(&self) -> Option<Value> {
        match self.default {
            FieldDefault::Value(value) => Some(value()).filter(|value| !value.is_null()),
            FieldDefault::Absent | FieldDefault::Words(_) => None,
        }
    }
}

/// The fields of a file that one row of a table defines.
pub(super) struct FieldRow {
    pub(super) class: Option<Class>,
    pub(super) fields: &'static [Field],
}

impl FieldRow {
    /// Fields of an object that is compared as a whole.
    pub(super) const fn unclassed(fields: &'static [Field]) -> Self {
        FieldRow { class: None, fields }
    }
}

/// All fields of a table, in the order in which they are written.
pub(super) fn fields_of(rows: &'static [FieldRow]) -> impl Iterator<Item = &'static Field> + Clone {
    rows.iter().flat_map(|row| row.fields)
}

/// The names of those fields.
pub(super) fn names_of(rows: &'static [FieldRow]) -> impl Iterator<Item = &'static str> + Clone {
    fields_of(rows).map(|field| field.name)
}

/// How a value of one field is read (leniently) and written.
pub(super) trait Codec {
    type Value: PartialEq;
    const SHAPE: ValueShape;

    /// Takes the field `key`. An unusable value is a warning and the default, or the server's error.
    fn read(reader: &mut FieldReader<'_>, key: &str, default: Self::Value) -> Result<Self::Value>;

    fn write(value: &Self::Value) -> Value;
}

/// How a part of the struct is read from several fields and written to them.
pub(super) trait FieldGroup {
    type Value;
    const FIELDS: &'static [Field];

    fn read(reader: &mut FieldReader<'_>) -> Result<Self::Value>;

    /// Adds the values that are not defaults.
    fn write(value: &Self::Value, object: &mut Map<String, Value>);
}

/// Adds the field unless it is its default.
pub(super) fn write_field<C: Codec>(
    object: &mut Map<String, Value>,
    key: &str,
    value: &C::Value,
    default: &C::Value,
) {
    if value != default {
        object.insert(key.to_owned(), C::write(value));
    }
}

/// Declares a struct of fields, with a setter for each. A row is
///
/// ```text
/// /// What it means, in Markdown; the unit and the words as they are written in a file.
/// tool_timeout "toolTimeout": Duration as Millis = TOOL_TIMEOUT, View;
/// ```
///
/// that is: the field of the struct, its name in a file, its type, its codec, its default and its class. A default may use
/// the fields above it; then words for people follow the class. A row without a name in a file has a [`FieldGroup`] in
/// place of the codec. The arguments of `with_defaults` are the fields without a default.
macro_rules! config_fields {
    (
        $(#[$attribute:meta])*
        pub struct $Struct:ident: with_defaults($($required:ident: $Required:ty)?) {
            $(
                $(#[doc = $about:literal])+
                $name:ident $($key:literal)? : $Type:ty as $Codec:ty $(= $default:expr)?
                    $(, $class:ident)? $(, $words:literal)?;
            )*
        }
        $(beside {
            $($(#[$beside_about:meta])+ $beside:ident: $BesideType:ty,)*
        })?
    ) => {
        $(#[$attribute])*
        #[non_exhaustive]
        pub struct $Struct {
            $($(#[doc = $about])+ pub $name: $Type,)*
            $($($(#[$beside_about])+ pub $beside: $BesideType,)*)?
        }

        impl $Struct {
            $(
                $(#[doc = $about])+
                #[must_use]
                pub fn $name(mut self, $name: impl Into<$Type>) -> Self {
                    self.$name = $name.into();
                    self
                }
            )*

            /// Every field of a file, in the order in which they are written.
            pub(super) const ROWS: &'static [$crate::config::field::FieldRow] = &[$(
                $crate::config::field::FieldRow {
                    class: config_fields!(@class $($class)?),
                    fields: config_fields!(
                        @fields [$($key)?] $Codec, concat!($($about),+), [$($default)?] [$($words)?]
                    ),
                },
            )*];

            /// Every field with a default has it.
            pub(super) fn with_defaults($($required: $Required)?) -> Self {
                $(let $name = config_fields!(@default $name [$($default)?]);)*
                $Struct { $($name,)* $($($beside: Default::default(),)*)? }
            }

            /// Takes all fields.
            pub(super) fn read(
                reader: &mut $crate::config::reader::FieldReader<'_>,
            ) -> $crate::error::Result<Self> {
                $(let $name = config_fields!(@read reader, [$($key)?] $Codec, [$($default)?]);)*
                Ok($Struct { $($name,)* $($($beside: Default::default(),)*)? })
            }

            /// What is not a default, in order.
            pub(super) fn write(&self) -> serde_json::Map<String, serde_json::Value> {
                let $Struct { $($name,)* .. } = self.clone();
                let mut object = serde_json::Map::new();
                $(config_fields!(@write object, $name, [$($key)?] $Codec, [$($default)?]);)*
                object
            }

            config_fields! { @differences [$($($class)?)*] $([$($class)?] $name [$($key)?];)* }
        }
    };

    (@class) => { None };
    (@class $class:ident) => { Some($crate::config::field::Class::$class) };

    (@fields [] $Group:ty, $about:expr, [$($default:expr)?] []) => {
        <$Group as $crate::config::field::FieldGroup>::FIELDS
    };
    (@fields [$key:literal] $Codec:ty, $about:expr, [$default:expr] [$($words:literal)?]) => {
        &[$crate::config::field::Field::new(
            $key,
            <$Codec as $crate::config::field::Codec>::SHAPE,
            $about,
        )
        .or(config_fields!(@fallback $Codec, [$default] $($words)?))]
    };

    (@fallback $Codec:ty, [$default:expr]) => {
        $crate::config::field::FieldDefault::Value(|| {
            <$Codec as $crate::config::field::Codec>::write(&$default)
        })
    };
    (@fallback $Codec:ty, [$default:expr] $words:literal) => {
        $crate::config::field::FieldDefault::Words($words)
    };

    (@read $reader:ident, [] $Group:ty, [$($default:expr)?]) => {
        <$Group as $crate::config::field::FieldGroup>::read($reader)?
    };
    (@read $reader:ident, [$key:literal] $Codec:ty, [$default:expr]) => {
        <$Codec as $crate::config::field::Codec>::read($reader, $key, $default)?
    };

    (@write $object:ident, $name:ident, [] $Group:ty, [$($default:expr)?]) => {
        <$Group as $crate::config::field::FieldGroup>::write(&$name, &mut $object)
    };
    (@write $object:ident, $name:ident, [$key:literal] $Codec:ty, [$default:expr]) => {
        $crate::config::field::write_field::<$Codec>(&mut $object, $key, &$name, &$default)
    };

    (@differences [] $($row:tt)*) => {};
    (@differences [$($all:ident)+] $([$class:ident] $name:ident [$($key:literal)?];)*) => {
        /// The fields of a class, as named in a file, in which `other` differs.
        pub(super) fn differences(
            &self,
            other: &Self,
            class: $crate::config::field::Class,
        ) -> Vec<&'static str> {
            let rows = [$((
                config_fields!(@name $name $($key)?),
                $crate::config::field::Class::$class,
                self.$name == other.$name,
            ),)*];
            rows.into_iter()
                .filter(|(_, of, is_same)| *of == class && !is_same)
                .map(|(name, ..)| name)
                .collect()
        }
    };

    (@default $name:ident []) => { $name };
    (@default $name:ident [$default:expr]) => { $default };

    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $key:literal) => { $key };
}

pub(super) use config_fields;
