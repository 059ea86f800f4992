//! Owns what "matches" means in a scenario.

use serde_json::Value;

const SPREAD: &str = "...";

/// Says where `actual` differs from what is expected.
pub(crate) fn check(expected: &Value, actual: &Value) -> Result<(), String> {
    compare(expected, actual, "")
}

fn compare(expected: &Value, actual: &Value, at: &str) -> Result<(), String> {
    match (expected, actual) {
        (Value::String(any), _) if any == "${any}" => {
            if actual.is_null() {
                Err(format!("{at}: is missing"))
            } else {
                Ok(())
            }
        }
        (Value::String(wanted), Value::String(text)) if contained(wanted).is_some() => {
            let part = contained(wanted).unwrap_or_default();
            if text.contains(part) {
                Ok(())
            } else {
                Err(format!("{at}: {part:?} is not in {text:?}"))
            }
        }
        (Value::Object(expected), Value::Object(actual)) => {
            for (key, value) in expected {
                compare(value, actual.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"))?;
            }
            Ok(())
        }
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => {
            wanted.iter().zip(items).enumerate().try_for_each(|(index, (value, item))| {
                compare(value, item, &format!("{at}[{index}]"))
            })
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => Ok(()),
        _ if expected == actual => Ok(()),
        _ => Err(format!("{at}: expected {expected}, got {actual}")),
    }
}

/// `text` of `${has:text}`.
fn contained(wanted: &str) -> Option<&str> {
    wanted.strip_prefix("${has:")?.strip_suffix('}')
}

/// Whether the items match in this order, with others between them.
pub(crate) fn is_subsequence(expected: &[Value], actual: &[Value]) -> bool {
    let mut rest = actual.iter();
    expected.iter().all(|wanted| rest.any(|item| check(wanted, item).is_ok()))
}

/// What `${name}` stands for.
pub(crate) type Names = Vec<(String, Value)>;

/// `value` with `${name}` replaced: a text in every string, anything else where it is the whole string. A member `...`
/// is replaced by the members of its value.
pub(crate) fn fill(value: &Value, names: &Names) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (name, replacement) in names {
                let pattern = format!("${{{name}}}");
                match replacement {
                    Value::String(replacement) => text = text.replace(&pattern, replacement),
                    whole if text == pattern => return whole.clone(),
                    _ => {}
                }
            }
            Value::String(text)
        }
        Value::Array(items) => items.iter().map(|item| fill(item, names)).collect(),
        Value::Object(map) => {
            let spread = map.get(SPREAD).map(|value| fill(value, names));
            let spread = spread.as_ref().and_then(Value::as_object).cloned();
            let own = map.iter().filter(|(key, _)| *key != SPREAD);
            let own = own.map(|(key, value)| (key.clone(), fill(value, names)));
            spread.into_iter().flatten().chain(own).collect()
        }
        plain => plain.clone(),
    }
}
