//! Declares the files of a server's own TLS settings. `resolve` reads them.

use serde_json::Value;

use super::codec::Text;
use super::field::{Codec, config_fields, names_of};
use super::reader::FieldReader;
use super::shape::{Object, ValueShape};
use crate::error::Result;

config_fields! {
    /// The files of a server's own TLS settings, each in PEM form.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TlsConfig: with_defaults() {
        /// The certificates that the server's own must be signed by, in place of the system's.
        ca "ca": Option<String> as Text = None, "none";
        /// The certificate that we present, with those that lead to its authority.
        cert "cert": Option<String> as Text = None, "none";
        /// The private key of `cert`.
        key "key": Option<String> as Text = None, "none";
    }
}

impl TlsConfig {
    /// The paths as written.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        [&self.ca, &self.cert, &self.key].into_iter().flatten().map(String::as_str)
    }
}

impl Default for TlsConfig {
    fn default() -> Self {
        TlsConfig::with_defaults()
    }
}

/// The object `tls`.
pub(super) struct TlsObject;

impl Codec for TlsObject {
    type Value = Option<TlsConfig>;
    const SHAPE: ValueShape = ValueShape::Object(&Object {
        name: "TlsConfig",
        about: "The files of a server's own TLS settings, each in PEM form.",
        rows: TlsConfig::ROWS,
        is_open: false,
    });

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<TlsConfig>,
    ) -> Result<Option<TlsConfig>> {
        let object = match reader.take(key) {
            None => return Ok(default),
            Some(Value::Object(object)) => object,
            // Not a warning: without it, more servers would be accepted than was meant.
            Some(_) => return Err(reader.error(&format!("\"{key}\" must be an object"))),
        };
        let mut reader = reader.nested(key, object);
        let tls = TlsConfig::read(&mut reader)?;
        reader.finish(names_of(TlsConfig::ROWS));
        Ok(Some(tls).filter(|tls| *tls != TlsConfig::default()))
    }

    fn write(value: &Option<TlsConfig>) -> Value {
        value.as_ref().map(|tls| tls.write().into()).unwrap_or_default()
    }
}
