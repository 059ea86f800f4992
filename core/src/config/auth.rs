//! Reads and writes how to sign in: an object that is kept as written. Nothing of it is printed.

use serde_json::Value;

use super::field::{Codec, Field, FieldRow};
use super::reader::FieldReader;
use super::shape::{Object, ValueShape};
use crate::error::Result;
use crate::redact::Secret;

/// The object `auth`.
pub(super) struct Auth;

impl Codec for Auth {
    type Value = Option<Secret>;
    const SHAPE: ValueShape = ValueShape::Object(&Object {
        name: "ServerAuth",
        about: "How we show a server who we are.",
        rows: &[FieldRow::unclassed(&[
            Field::new("type", ValueShape::Words(&["oauth", "bearer"]), "The kind of sign-in.")
                .required(),
            Field::new("credentialId", ValueShape::TEXT, "Which credentials, for `oauth`."),
            Field::new("token", ValueShape::TEXT, "The token, for `bearer`."),
            Field::new(
                "tokenEnv",
                ValueShape::TEXT,
                "The variable that holds the token, for `bearer`.",
            ),
        ])],
        is_open: true,
    });

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<Secret>,
    ) -> Result<Option<Secret>> {
        match reader.take(key) {
            None => Ok(default),
            Some(Value::Object(auth)) => Ok(Some(Secret::new(Value::Object(auth).to_string()))),
            Some(_) => Err(reader.error(&format!("\"{key}\" must be an object"))),
        }
    }

    fn write(value: &Option<Secret>) -> Value {
        let written = value.as_ref().and_then(|auth| serde_json::from_str(auth.expose()).ok());
        written.unwrap_or_default()
    }
}
