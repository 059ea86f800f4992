//! Owns filling in the default answers for `${input:id}`.
//! Invariant: an answer is literal text: no reference and no command. All answers of a file together add a bounded text,
//! however often the file repeats them; beyond that, references stay as they are.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value};

use crate::config::syntax::no_command;

const INPUT: &str = "${input:";
/// How many bytes all answers of one file may add.
const MAX_FILLED: usize = 64 << 10;

/// The default answers of a file's inputs.
#[derive(Default)]
pub(crate) struct Inputs {
    answers: HashMap<String, String>,
    /// How many bytes they have added.
    filled: AtomicUsize,
}

impl Inputs {
    /// Takes the inputs that have a default answer from their declarations.
    pub(crate) fn from_declared(declared: impl IntoIterator<Item = Value>) -> Inputs {
        let declared = declared.into_iter();
        let lists = declared.filter_map(|list| list.as_array().cloned());
        let proposed = lists.flatten().filter_map(|input| {
            let (id, answer) = (input["id"].as_str()?, input["default"].as_str()?);
            Some((id.to_owned(), answer.replace("${", "$${")))
        });
        Inputs { answers: proposed.collect(), filled: AtomicUsize::new(0) }
    }

    /// The answer as literal text, if the file may still use it.
    fn answer(&self, id: &str) -> Option<&str> {
        let answer = self.answers.get(id)?;
        let filled = self.filled.fetch_add(answer.len(), Ordering::Relaxed);
        (filled + answer.len() <= MAX_FILLED).then_some(answer)
    }
}

/// Replaces `${input:id}` by its default answer, in texts that are already translated.
pub(super) fn fill_inputs(definition: &mut Map<String, Value>, inputs: &Inputs) {
    type Fill = fn(&str, &Inputs) -> String;
    fn walk(place: &mut Value, inputs: &Inputs, fill: Fill) {
        match place {
            Value::String(text) if text.contains(INPUT) => *text = fill(text, inputs),
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, inputs, fill)),
            Value::Object(entries) => {
                entries.values_mut().for_each(|item| walk(item, inputs, fill));
            }
            _ => {}
        }
    }
    if inputs.answers.is_empty() {
        return;
    }
    for field in ["command", "args", "envFile", "cwd", "url"] {
        if let Some(place) = definition.get_mut(field) {
            walk(place, inputs, fill_text);
        }
    }
    for field in ["env", "headers"] {
        if let Some(place) = definition.get_mut(field) {
            walk(place, inputs, fill_value);
        }
    }
}

/// Like `fill_text`, for a variable or header: an answer must not turn it into a command.
fn fill_value(text: &str, inputs: &Inputs) -> String {
    let fill_text = fill_text(text, inputs);
    if text.starts_with(INPUT) { no_command(fill_text) } else { fill_text }
}

fn fill_text(text: &str, inputs: &Inputs) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(INPUT) {
        let Some(length) = rest[at..].find('}') else { break };
        let (id, literal) = (&rest[at + INPUT.len()..at + length], rest[..at].ends_with('$'));
        match (!literal).then(|| inputs.answer(id)).flatten() {
            Some(answer) => {
                out.push_str(&rest[..at]);
                out.push_str(answer);
            }
            None => out.push_str(&rest[..=at + length]),
        }
        rest = &rest[at + length + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inputs(answers: &[(&str, &str)]) -> Inputs {
        let declared = answers.iter().map(|(id, answer)| json!({"id": id, "default": answer}));
        Inputs::from_declared([Value::Array(declared.collect())])
    }

    #[test]
    fn a_file_that_repeats_an_answer_does_not_grow_without_bound() {
        let inputs = inputs(&[("a", &"${".repeat(1000))]);
        let references = "${input:a}".repeat(100_000);
        let filled = fill_text(&references, &inputs);
        assert!(filled.len() <= references.len() + MAX_FILLED, "{}", filled.len());
        assert!(filled.starts_with("$${$${") && filled.ends_with("${input:a}"));
        assert_eq!(
            fill_text("${input:a}", &inputs),
            "${input:a}",
            "the bound is for the whole file"
        );
    }

    #[test]
    fn a_proposed_answer_is_filled_in_once_and_literally() {
        let inputs = inputs(&[("a", "${input:b}"), ("b", "x"), ("empty", "")]);
        let fill = |text| fill_text(text, &inputs);
        assert_eq!(fill("<${input:b}${input:b}>"), "<xx>");
        assert_eq!(fill("${input:a}"), "$${input:b}");
        assert_eq!(fill("${input:none}${input:empty}"), "${input:none}");
        assert_eq!(fill("$${input:b} ${input:b"), "$${input:b} ${input:b");
    }

    #[test]
    fn a_proposed_answer_is_never_a_command() {
        let inputs = inputs(&[("a", "!id"), ("b", "$!id")]);
        let block =
            json!({"A": "${input:a}", "B": "${input:b}", "C": "x${input:a}", "D": "!${input:a}"});
        let mut definition = Map::new();
        definition.insert("env".to_owned(), block);
        definition.insert("args".to_owned(), json!(["${input:a}"]));
        fill_inputs(&mut definition, &inputs);
        let fill_text = json!({"A": "$!id", "B": "$$!id", "C": "x!id", "D": "!!id"});
        assert_eq!(definition["env"], fill_text);
        assert_eq!(definition["args"], json!(["!id"]));
    }
}
