//! Owns what references stand for, and who may read what: the scope follows the source.
//! Invariant: what was looked up is never expanded again, so there are no cycles; every result is bounded; no warning
//! and no error shows a value.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::files::Files;
use super::reference::{ESCAPED, OPEN, Otherwise, Reference, Template};
use super::text_file;
use super::warnings::Warnings;
use crate::config::{Level, Scope};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::{Given, is_secret_key};
use crate::shell;
use crate::variable_name::is_name;

/// The longest value.
const VALUE_LIMIT: usize = 1 << 20;
/// The most that the references of one definition may bring in.
const TOTAL_LIMIT: usize = 8 << 20;
/// How deep defaults may stand inside defaults.
const DEPTH_LIMIT: usize = 32;
/// How much of somebody's message is shown.
const MESSAGE_LIMIT: usize = 300;

const UNSET_HINT: &str = "export that variable, or write ${NAME:-default}";

/// What a value may be looked up in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The server's own variables, the variables file, the environment.
    All,
    /// The variables file and the environment: for the server's own variables.
    Outside,
    /// The server's own variables alone, for what a project sends away; what is not there is empty.
    Own,
}

/// Where a value stands, for messages and for its reach.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'static str,
    pub(super) entry: Option<&'a str>,
    pub(super) reach: Reach,
}

impl<'a> Field<'a> {
    pub(super) fn new(name: &'static str, reach: Reach) -> Self {
        Field { name, entry: None, reach }
    }

    pub(super) fn entry(self, entry: &'a str) -> Self {
        Field { entry: Some(entry), ..self }
    }

    pub(super) fn shown(&self) -> String {
        match self.entry {
            Some(entry) => format!("\"{}.{entry}\"", self.name),
            None => format!("\"{}\"", self.name),
        }
    }
}

pub(super) struct Expander<'a> {
    scope: &'a Scope,
    own: IndexMap<String, String>,
    variables: HashMap<String, String>,
    environment: HashMap<String, Option<String>>,
    left: usize,
    given: Given,
    files: Files,
    pub(super) warnings: &'a mut Warnings,
}

impl<'a> Expander<'a> {
    pub(super) fn new(
        scope: &'a Scope,
        variables: HashMap<String, String>,
        files: Files,
        warnings: &'a mut Warnings,
    ) -> Self {
        let (own, environment) = (IndexMap::new(), HashMap::new());
        Expander {
            scope,
            own,
            variables,
            environment,
            left: TOTAL_LIMIT,
            given: Given::default(),
            files,
            warnings,
        }
    }

    /// The text of a file that the definition names.
    pub(super) fn read_file(&mut self, path: &Path) -> Result<String, text_file::Problem> {
        self.files.read(path)
    }

    /// Every file that was read so far.
    pub(super) fn take_files(&mut self) -> Files {
        std::mem::take(&mut self.files)
    }

    /// The secrets that references stood for so far.
    pub(super) fn take_given(&mut self) -> Given {
        std::mem::take(&mut self.given)
    }

    pub(super) fn give_secret(&mut self, value: &str) {
        self.given.value(value);
    }

    /// From here on these are the server's own variables.
    pub(super) fn set_own(&mut self, own: IndexMap<String, String>) {
        self.own = own;
    }

    /// How far a field of what is sent away may look.
    pub(super) fn reach_of_the_sent(&self) -> Reach {
        if self.scope.level == Level::Project { Reach::Own } else { Reach::All }
    }

    /// The value with its references replaced.
    pub(super) fn expand(&mut self, field: Field<'_>, text: &str) -> Result<String> {
        if !text.contains(OPEN) {
            return Ok(text.to_owned());
        }
        let template = Template::new(text);
        let mut filling = Filling { field, template: &template, out: String::new() };
        self.fill(&mut filling, 0..text.len(), 0)?;
        Ok(filling.out)
    }

    /// The value of the variable that the text names, where it is the name of one that is set.
    pub(super) fn bare(&mut self, field: Field<'_>, text: &str) -> Option<String> {
        let wanted = self.scope.bare_env_names && field.reach != Reach::Own && is_name(text);
        let value = if wanted { self.look_up(field.reach, text) } else { None };
        if is_secret_key(text) {
            self.given.extend(value.as_deref());
        }
        value
    }

    fn fill(
        &mut self,
        filling: &mut Filling<'_, '_>,
        range: Range<usize>,
        depth: usize,
    ) -> Result<()> {
        let text = filling.template.text;
        if depth > DEPTH_LIMIT {
            return Err(self.invalid(filling.field, "has references that are nested too deeply"));
        }
        let mut at = range.start;
        while let Some(step) = memchr::memchr(b'$', &text.as_bytes()[at..range.end]) {
            let dollar = at + step;
            self.push(filling, &text[at..dollar])?;
            if text[dollar..range.end].starts_with(ESCAPED) {
                self.push(filling, OPEN)?;
                at = dollar + ESCAPED.len();
            } else if let Some((reference, after)) = filling.template.reference_at(dollar) {
                self.put(filling, reference, dollar..after, depth)?;
                at = after;
            } else {
                self.push(filling, "$")?;
                at = dollar + 1;
            }
        }
        self.push(filling, &text[at..range.end])
    }

    fn put(
        &mut self,
        filling: &mut Filling<'_, '_>,
        reference: Reference<'_>,
        whole: Range<usize>,
        depth: usize,
    ) -> Result<()> {
        let field = filling.field;
        match reference {
            Reference::Input(id) => {
                let why = format!(
                    "refers to ${{input:{id}}}, which is asked for only by the host that the file was written for"
                );
                self.unresolved(filling, whole, &why, None)
            }
            Reference::File(path) => match self.file(filling, path.clone(), depth)? {
                Ok(content) => {
                    self.given.value(&content);
                    self.push(filling, &content)
                }
                Err(why) => {
                    let path = &filling.template.text[path];
                    let why = format!("refers to ${{file:{path}}}, which cannot be used: {why}");
                    self.unresolved(filling, whole, &why, None)
                }
            },
            Reference::Variable { name, explicit, otherwise } => {
                let value = match explicit {
                    false => self.place(field.reach, name),
                    true => None,
                };
                let value = value.or_else(|| self.look_up(field.reach, name));
                let is_secret = is_secret_key(name);
                if is_secret {
                    self.given.extend(value.as_deref());
                    if let Otherwise::Default(range) = &otherwise {
                        self.given.value(&filling.template.text[range.clone()]);
                    }
                }
                match (value, otherwise) {
                    (Some(value), Otherwise::Unresolved) => self.push(filling, &value),
                    (Some(value), _) if !value.is_empty() => self.push(filling, &value),
                    (_, Otherwise::Default(range)) => {
                        let start = filling.out.len();
                        self.fill(filling, range, depth + 1)?;
                        if is_secret {
                            // What stands there may come from references of its own.
                            self.given.value(&filling.out[start..]);
                        }
                        Ok(())
                    }
                    (_, Otherwise::Error(message)) => Err(self.missing(field, name, message)),
                    (None, Otherwise::Unresolved) => {
                        let (why, hint) = match field.reach {
                            Reach::Own => (
                                format!(
                                    "refers to ${{{name}}}, which the server's own \"env\" does not set"
                                ),
                                None,
                            ),
                            _ => (
                                format!("refers to ${{{name}}}, which is not set"),
                                Some(UNSET_HINT),
                            ),
                        };
                        self.unresolved(filling, whole, &why, hint)
                    }
                }
            }
        }
    }

    /// What a name that we give a meaning to stands for.
    fn place(&self, reach: Reach, name: &str) -> Option<String> {
        let text = |path: PathBuf| path.into_os_string().into_string().ok();
        if reach == Reach::Own {
            return None;
        }
        match name {
            "workspaceFolder" => text(workspace(self.scope)?),
            "workspaceFolderBasename" => {
                let directory = workspace(self.scope)?;
                text(directory.file_name()?.into())
            }
            "userHome" => text(self.scope.host_env.home()?),
            _ => None,
        }
    }

    fn look_up(&mut self, reach: Reach, name: &str) -> Option<String> {
        if let Some(value) = self.own.get(name).filter(|_| reach != Reach::Outside) {
            return Some(value.clone());
        }
        if reach == Reach::Own {
            return None;
        }
        if let Some(value) = self.variables.get(name) {
            return Some(value.clone());
        }
        // Asked once: a process's environment is a list behind a lock.
        if let Some(value) = self.environment.get(name) {
            return value.clone();
        }
        let value = self.scope.host_env.var(name);
        self.environment.insert(name.to_owned(), value.clone());
        value
    }

    /// The content of a file, or why there is none.
    fn file(
        &mut self,
        filling: &Filling<'_, '_>,
        path: Range<usize>,
        depth: usize,
    ) -> Result<Result<String, String>> {
        if filling.field.reach == Reach::Own {
            return Ok(Err("a project's headers and addresses hold no files".to_owned()));
        }
        let (field, template) = (filling.field, filling.template);
        let mut named = Filling { field, template, out: String::new() };
        self.fill(&mut named, path, depth + 1)?;
        let content = self.read_file(&path_in(self.scope, &named.out));
        Ok(match content {
            Ok(content) => Ok(content.trim_end_matches(['\r', '\n']).to_owned()),
            Err(problem) => Err(problem.text().to_owned()),
        })
    }

    fn unresolved(
        &mut self,
        filling: &mut Filling<'_, '_>,
        whole: Range<usize>,
        why: &str,
        hint: Option<&'static str>,
    ) -> Result<()> {
        let shown = filling.field.shown();
        if filling.field.reach == Reach::Own {
            self.warnings.push_with_hint(&format!("{shown} {why}; it is left empty"), hint);
            return Ok(());
        }
        self.warnings.push_with_hint(&format!("{shown} {why}; it stays as it is"), hint);
        self.push(filling, &filling.template.text[whole])
    }

    fn push(&mut self, filling: &mut Filling<'_, '_>, text: &str) -> Result<()> {
        if filling.out.len() + text.len() > VALUE_LIMIT || text.len() > self.left {
            return Err(self.invalid(filling.field, "is too long once its references are replaced"));
        }
        self.left -= text.len();
        filling.out.push_str(text);
        Ok(())
    }

    fn missing(&self, field: Field<'_>, name: &str, message: &str) -> Error {
        let message: String = message.trim().chars().take(MESSAGE_LIMIT).collect();
        let message = if message.is_empty() { "it is not set" } else { &message };
        self.invalid(field, &format!("needs ${{{name}}}: {message}"))
            .with_hint(format!("set {}", shell::quote(name)))
    }

    fn invalid(&self, field: Field<'_>, what: &str) -> Error {
        let server = self.warnings.server();
        let text = format!("Server \"{server}\": {} {what}", field.shown());
        Error::new(ErrorKind::ConfigInvalid, text).with_server(server)
    }
}

/// A value while its references are replaced.
struct Filling<'a, 't> {
    field: Field<'a>,
    template: &'a Template<'t>,
    out: String,
}

/// The text without its escapes, for values whose references are not followed.
pub(super) fn unescaped(text: &str) -> String {
    text.replace(ESCAPED, OPEN)
}

fn workspace(scope: &Scope) -> Option<PathBuf> {
    scope.workspace.clone().or_else(|| directory(scope))
}

/// Where relative paths begin.
pub(super) fn directory(scope: &Scope) -> Option<PathBuf> {
    scope.directory.clone().or_else(|| std::env::current_dir().ok())
}

/// A path as it is meant in its scope.
pub(super) fn path_in(scope: &Scope, path: &str) -> PathBuf {
    let at_home = path.strip_prefix("~/").or((path == "~").then_some(""));
    if let Some((rest, home)) = at_home.zip(scope.host_env.home()) {
        return home.join(rest);
    }
    match directory(scope) {
        Some(directory) => directory.join(path),
        None => Path::new(path).to_owned(),
    }
}

#[cfg(test)]
mod tests;
