//! Owns writing one of our definitions in a product's own words, shape and units: the inverse of `normalise`.
//! What decides how the server is reached must be sayable in the product's words. A setting that the product does not
//! have is written under our own name, which the product ignores and `normalise` reads; a strict product gets none.
//! Invariant: driven by the product's row of the table; nothing is left out without an error.

use serde_json::{Map, Value, json};

use super::named_references::{self, PASSED_VARIABLES};
use super::normalise::{
    APPROVAL_LISTS, COMMANDS, FIELD_SYNONYMS, LIST_SYNONYMS, TOOLS, URL_FIELDS,
};
use super::wording::{AuthWords, FieldWord, Filling, ProgramShape};
use super::{OWN, Provider, TimeField};
use crate::config::is_default;
use crate::config::syntax::{Inexpressible, express_definition, only_variable};

const BEARER: &str = "Bearer ";
/// The fields that are written together.
const REACH: &[&str] = &["type", "command", "args", "url"];

/// A definition in a product's words.
pub(crate) struct Denormalised {
    pub(crate) entry: Map<String, Value>,
    /// What it means when it is read: the definition, and what the product's fields set besides.
    pub(crate) meaning: Map<String, Value>,
    pub(crate) warnings: Vec<String>,
}

/// A field that the product cannot say, and why.
#[derive(Debug)]
pub(crate) struct Unsayable {
    pub(crate) field: String,
    pub(crate) why: String,
}

impl Unsayable {
    fn new(field: &str, why: impl Into<String>) -> Self {
        Unsayable { field: field.to_owned(), why: why.into() }
    }
}

/// Writes `definition`, in canonical names and values, as the entry of `name`: all of it, or `only` these fields.
pub(crate) fn denormalise(
    name: &str,
    definition: &Map<String, Value>,
    only: Option<&[&str]>,
    provider: &Provider,
) -> Result<Denormalised, Unsayable> {
    let is_wanted = |field: &str| only.is_none_or(|only| only.contains(&field));
    let mut left = definition.clone();
    left.retain(|field, _| is_wanted(field));
    let mut writer = Writer {
        provider,
        is_program: definition.contains_key("command"),
        left,
        written: Denormalised {
            entry: Map::new(),
            meaning: definition.clone(),
            warnings: Vec::new(),
        },
    };
    let by_name = writer.names_of_variables();
    writer.references()?;
    if is_wanted("type") {
        writer.reach()?;
    }
    writer.written.entry.extend(by_name);
    writer.times()?;
    writer.fields()?;
    writer.needed(name, only);
    Ok(writer.written)
}

/// Every word of the product, and of others, that may hold one of `fields`.
pub(crate) fn words_of(fields: &[&str], provider: &Provider) -> Vec<&'static str> {
    let has = |field: &str| fields.contains(&field);
    let mut words: Vec<&'static str> = Vec::new();
    let synonyms = FIELD_SYNONYMS.iter().chain(LIST_SYNONYMS);
    for (field, synonyms) in synonyms.filter(|(field, _)| has(field)) {
        words.extend(*synonyms);
        match *field {
            "env" => words.extend(PASSED_VARIABLES),
            "headers" => words.extend([named_references::HEADERS, named_references::BEARER]),
            "enabledTools" => words.push(TOOLS),
            "enabled" => words.push("disabled"),
            _ => {}
        }
    }
    let its = provider.wording.fields.iter().filter(|(field, _)| has(field));
    words.extend(its.filter_map(|(_, word)| match word {
        FieldWord::SwitchedOff(word) => Some(*word),
        _ => None,
    }));
    if REACH.iter().any(|field| has(field)) {
        words.extend(["type", "transport", "args"].iter().chain(COMMANDS));
        words.extend(URL_FIELDS.iter().map(|(word, _)| word));
    }
    if has("requiresApproval") {
        words.extend(APPROVAL_LISTS.iter().chain(&["trust"]));
    }
    if has("restart") {
        words.extend(provider.retry);
    }
    let times = provider.all_times().filter(|time| time.sets.iter().any(|set| has(set)));
    words.extend(times.map(|time| time.field));
    words.extend(crate::config::field_names().filter(|field| has(field)));
    let seen: std::collections::BTreeSet<_> = words.into_iter().collect();
    seen.into_iter().collect()
}

/// Every word that our own files may have for `field` alone.
pub(crate) fn own_words_of(field: &str) -> Vec<&'static str> {
    match field {
        "url" => URL_FIELDS.iter().map(|(word, _)| *word).collect(),
        "command" => COMMANDS.to_vec(),
        "args" => vec!["args"],
        "type" => vec!["type", "transport"],
        // Nothing is read from "trust" there.
        _ => words_of(&[field], &OWN).into_iter().filter(|word| *word != "trust").collect(),
    }
}

/// Our fields that the product writes in one field with `field`.
pub(crate) fn written_with(field: &str, provider: &Provider) -> Vec<&'static str> {
    let together = provider.times.iter().filter(|time| time.sets.contains(&field));
    let times = together.flat_map(|time| time.sets).copied();
    let reach = REACH.iter().copied().filter(|_| REACH.contains(&field));
    times.chain(reach).collect()
}

struct Writer<'p> {
    provider: &'p Provider,
    is_program: bool,
    /// What is not written yet.
    left: Map<String, Value>,
    written: Denormalised,
}

impl Writer<'_> {
    fn put(&mut self, word: &str, value: Value) {
        self.written.entry.insert(word.to_owned(), value);
    }

    /// Variables and headers that the product takes from its environment by name.
    fn names_of_variables(&mut self) -> Map<String, Value> {
        let mut found = Map::new();
        let Some(fields) = self.provider.wording.by_name else { return found };
        let mut put = |word: &str, value: Value| drop(found.insert(word.to_owned(), value));
        let variables = take_entries(&mut self.left, "env", |name, text| {
            only_variable(text).filter(|variable| self.is_program && variable == name)
        });
        if !variables.is_empty() {
            put(fields.variables, variables.into_iter().map(|(name, _)| name).collect());
        }
        let bearer = take_entries(&mut self.left, "headers", |name, text| {
            let token = text.strip_prefix(BEARER).filter(|_| name == "Authorization");
            only_variable(token?)
        });
        if let Some((_, variable)) = bearer.into_iter().next() {
            put(fields.bearer, variable.into());
        }
        let headers = take_entries(&mut self.left, "headers", |_, text| only_variable(text));
        if !headers.is_empty() {
            let headers = headers.into_iter().map(|(name, variable)| (name, variable.into()));
            put(fields.headers, Value::Object(headers.collect()));
        }
        found
    }

    fn references(&mut self) -> Result<(), Unsayable> {
        express_definition(&mut self.left, self.provider.syntax).map_err(|(field, why)| {
            let why = match why {
                Inexpressible::Reference => "it has a reference that such a file cannot have",
                Inexpressible::Command => "such a file cannot have a command (!…) for a value",
                Inexpressible::Literal => {
                    "a part of it is plain text that such a file has for a reference"
                }
            };
            Unsayable::new(field, why)
        })
    }

    /// The transport, and the program or the address.
    fn reach(&mut self) -> Result<(), Unsayable> {
        let wording = self.provider.wording;
        let implied = if self.is_program { "stdio" } else { "http" };
        let ours = self.left.remove("type");
        let ours = ours.as_ref().and_then(Value::as_str).unwrap_or(implied);
        let Some(transport) = wording.transports.iter().find(|transport| transport.ours == ours)
        else {
            let what = if ours == "stdio" { "programs" } else { ours };
            return Err(Unsayable::new("type", format!("such a file cannot have {what} servers")));
        };
        if let Some(word) = transport.word {
            self.put(wording.type_field, word.into());
        }
        if let Some(command) = self.left.remove("command") {
            let args = self.left.remove("args");
            self.program(command, args)?;
        }
        if let Some(url) = self.left.remove("url") {
            self.put(transport.url, url);
        }
        Ok(())
    }

    fn program(&mut self, command: Value, args: Option<Value>) -> Result<(), Unsayable> {
        let command = match command {
            Value::String(text) if self.provider.command_line => shlex::try_quote(&text)
                .map_err(|_| Unsayable::new("command", "it cannot be quoted"))?
                .into_owned()
                .into(),
            command => command,
        };
        match self.provider.wording.program {
            ProgramShape::Apart(word) => {
                self.put(word, command);
                args.into_iter().for_each(|args| self.put("args", args));
            }
            ProgramShape::List(word) => {
                let args = args.and_then(|args| args.as_array().cloned()).unwrap_or_default();
                self.put(word, std::iter::once(command).chain(args).collect());
            }
        }
        Ok(())
    }

    fn times(&mut self) -> Result<(), Unsayable> {
        for time in self.provider.times {
            let asked = |field: &&'static str| Some((*field, self.left.get(*field)?.as_u64()?));
            let asked: Vec<(&str, u64)> = time.sets.iter().filter_map(asked).collect();
            let Some(&(first, millis)) = asked.first() else { continue };
            let Some(value) = in_units(millis, time) else {
                let why = format!("\"{}\" of such a file is in whole seconds", time.field);
                return Err(Unsayable::new(first, why));
            };
            self.put(time.field, value);
            for field in time.sets {
                match self.left.get(*field) {
                    None => {
                        self.written.meaning.insert((*field).to_owned(), millis.into());
                        let (word, name) = (time.field, self.provider.name);
                        let text = format!(
                            "\"{first}\" is written as \"{word}\" of {name}, which sets \"{field}\" too"
                        );
                        self.written.warnings.push(text);
                    }
                    Some(value) if value.as_u64() == Some(millis) => {
                        self.left.shift_remove(*field);
                    }
                    // Our own field wins over what the product's implies.
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    fn fields(&mut self) -> Result<(), Unsayable> {
        let wording = self.provider.wording;
        for (field, value) in std::mem::take(&mut self.left) {
            let word = wording.fields.iter().find(|(ours, _)| *ours == field).map(|(_, word)| word);
            // A server on the network has variables for its references only with us.
            let word = word.filter(|_| field != "env" || self.is_program);
            let is_off = value == Value::Bool(false);
            match (word, wording.auth) {
                (Some(FieldWord::Name(word)), _) => self.put(word, value),
                (Some(FieldWord::Opposite(word)), _) => self.put(word, is_off.into()),
                (Some(FieldWord::Below(above, word)), _) => self.put(above, json!({*word: value})),
                (Some(FieldWord::SwitchedOff(word)), _) => {
                    let tools = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                    let off = tools.map(|tool| (tool.to_owned(), json!({"enabled": false})));
                    self.put(word, Value::Object(off.collect()));
                }
                (Some(FieldWord::NotIf(word)), _) if is_off => self.put(word, true.into()),
                (Some(FieldWord::NotForAll(word)), _) if is_off => self.put(word, json!(["*"])),
                (Some(FieldWord::NotIf(_) | FieldWord::NotForAll(_)), _) => {}
                (None, Some(words)) if field == "auth" && is_sayable(&value, &words) => {
                    self.put(words.field, auth_in(&value, &words));
                }
                (None, _) => self.own_field(&field, value)?,
            }
        }
        Ok(())
    }

    /// A field that only we know.
    fn own_field(&mut self, field: &str, value: Value) -> Result<(), Unsayable> {
        if self.provider.wording.is_strict && is_default(field, &value) {
            return Ok(());
        }
        if self.provider.wording.is_strict {
            let why = format!("{} has no such field and refuses unknown ones", self.provider.name);
            return Err(Unsayable::new(field, why));
        }
        let text = format!("\"{field}\" is a field of mcpool; {} ignores it", self.provider.name);
        self.written.warnings.push(text);
        self.put(field, value);
        Ok(())
    }

    /// Adds the fields that the product needs; of an existing entry, those that hold one of `only` these fields.
    fn needed(&mut self, name: &str, only: Option<&[&str]>) {
        let wording = self.provider.wording;
        let is_concerned = |word: &'static str| {
            let named = wording.fields.iter().find(|(_, its)| *its == FieldWord::Name(word));
            let field = named.map_or(word, |(field, _)| *field);
            only.is_none_or(|only| only.contains(&field))
        };
        for needed in wording.needed {
            if needed.of_programs && !self.is_program
                || !is_concerned(needed.field)
                || self.written.entry.contains_key(needed.field)
            {
                continue;
            }
            let value = match needed.value {
                Filling::ServerName => name.into(),
                Filling::EmptyText => "".into(),
                Filling::EmptyList => json!([]),
                Filling::True => true.into(),
                Filling::AllTools => json!(["*"]),
            };
            self.put(needed.field, value);
        }
    }
}

/// Takes the entries of the object `field` that `pick` has something for.
fn take_entries(
    definition: &mut Map<String, Value>,
    field: &str,
    pick: impl Fn(&str, &str) -> Option<String>,
) -> Vec<(String, String)> {
    let Some(Value::Object(entries)) = definition.get_mut(field) else { return Vec::new() };
    let mut taken = Vec::new();
    entries.retain(|name, value| match value.as_str().and_then(|text| pick(name, text)) {
        Some(picked) => {
            taken.push((name.clone(), picked));
            false
        }
        None => true,
    });
    if entries.is_empty() {
        definition.shift_remove(field);
    }
    taken
}

/// The time in the unit of its field, if it can be said.
fn in_units(millis: u64, time: &TimeField) -> Option<Value> {
    if millis.is_multiple_of(time.unit_ms) {
        return Some((millis / time.unit_ms).into());
    }
    let is_exact = !time.is_whole && millis < 1 << 50;
    is_exact.then(|| json!(millis as f64 / time.unit_ms as f64))
}

/// Whether the product has all that is said about signing in.
fn is_sayable(auth: &Value, words: &AuthWords) -> bool {
    let is_known = |field: &String| words.words.iter().any(|(ours, _)| ours == field);
    auth.as_object().is_some_and(|auth| auth.keys().all(is_known))
}

fn auth_in(auth: &Value, words: &AuthWords) -> Value {
    let written = auth.as_object().into_iter().flatten().filter_map(|(field, value)| {
        let (_, word) = words.words.iter().find(|(ours, _)| ours == field)?;
        let scopes = value.as_array().filter(|_| words.scopes_as_text);
        let value = match scopes {
            Some(scopes) => {
                let scopes: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
                scopes.join(" ").into()
            }
            None => value.clone(),
        };
        Some(((*word).to_owned(), value))
    });
    Value::Object(written.collect())
}

#[cfg(test)]
mod tests;
