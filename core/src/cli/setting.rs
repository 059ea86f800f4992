//! Owns `FIELD=VALUE` and `FIELD:=JSON` for the fields of a definition.

use std::str::FromStr;

use serde_json::Value;

use crate::config::field_names;
use crate::similar::did_you_mean;

const FORM: &str = "write FIELD=VALUE or FIELD:=JSON";

#[derive(Clone, Debug)]
pub(super) struct Setting {
    field: String,
    /// Or what is wrong with it. Only we say so: clap would show the value, which may be a secret.
    value: Result<Value, String>,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let Some((field, text)) = word.split_once('=') else {
            return Ok(Setting { field: String::new(), value: Err(FORM.to_owned()) });
        };
        let parsed = serde_json::from_str(text);
        let (field, value) = match field.strip_suffix(':') {
            Some(field) => {
                let problem = |error| format!("the value of \"{field}\" is not JSON: {error}");
                (field, parsed.map_err(problem))
            }
            // A number or a switch is written as such; the rest is text.
            None => match parsed {
                Ok(value @ (Value::Number(_) | Value::Bool(_))) => (field, Ok(value)),
                _ => (field, Ok(text.into())),
            },
        };
        Ok(Setting { field: field.to_owned(), value })
    }
}

impl Setting {
    /// The field, or why there is none.
    pub(super) fn field(&self) -> Result<&str, String> {
        if field_names().any(|name| name == self.field) {
            return Ok(&self.field);
        }
        // It may be a part of a value.
        let is_word = self.field.chars().all(|it| it.is_alphanumeric() || "_-.".contains(it));
        if self.field.is_empty() || !is_word {
            return Err(FORM.to_owned());
        }
        Err(unknown_field(&self.field))
    }

    pub(super) fn value(&self) -> Result<Value, String> {
        self.value.clone()
    }
}

/// The error for a field that there is not.
pub(super) fn unknown_field(field: &str) -> String {
    let similar = did_you_mean(field, field_names());
    let similar = similar.map(|name| format!("; did you mean \"{name}\"?"));
    format!("there is no field \"{field}\"{}", similar.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(word: &str) -> Value {
        word.parse::<Setting>().expect("a setting").value().expect("a value")
    }

    #[test]
    fn numbers_and_switches_are_typed_and_the_rest_is_text() {
        assert_eq!(value("timeout=500"), json!(500));
        assert_eq!(value("lazy=true"), json!(true));
        assert_eq!(value("restart=once"), json!("once"));
        assert_eq!(value("cwd={}"), json!("{}"));
        assert_eq!(value("restart:={\"delays\": [0]}"), json!({"delays": [0]}));
        let broken: Setting = "restart:={\"hunter2".parse().expect("a setting");
        let problem = broken.value().unwrap_err();
        assert!(problem.contains("restart") && !problem.contains("hunter2"), "{problem}");
        for formless in ["restart", r#"env:{"TOKEN":"hunter2"}"#, r#"env:{"TOKEN":"hunter2=="}"#] {
            let formless: Setting = formless.parse().expect("clap would show the value");
            assert_eq!(formless.field(), Err(FORM.to_owned()));
        }
    }

    #[test]
    fn an_unknown_field_is_told_with_what_was_meant() {
        let field = |word: &str| word.parse::<Setting>().unwrap().field().map(str::to_owned);
        assert_eq!(field("toolTimeout=1").as_deref(), Ok("toolTimeout"));
        assert!(field("toolTimeuot=1").unwrap_err().contains("did you mean \"toolTimeout\"?"));
    }
}
