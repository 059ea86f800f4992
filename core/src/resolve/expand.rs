//! Owns the values of references, and which values a definition may read: that depends on its source.
//! Invariant: a looked-up value is never expanded again, so there are no cycles; every result is bounded; no warning or
//! error shows a value.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::files::Files;
use super::reference::{ESCAPED, Fallback, OPEN, Reference, Template};
use super::text_file;
use super::warnings::Warnings;
use crate::config::{Level, Scope};
use crate::error::{Error, ErrorKind, Result};
use crate::redact::{MaskBuilder, is_secret_key};
use crate::shell;
use crate::variable_name::is_name;

/// The longest value.
const VALUE_LIMIT: usize = 1 << 20;
/// The most text that the references of one definition may add.
const TOTAL_LIMIT: usize = 8 << 20;
/// The nesting limit of defaults.
const DEPTH_LIMIT: usize = 32;
/// How much of a `:?message` is shown.
const MESSAGE_LIMIT: usize = 300;

const UNSET_HINT: &str = "export that variable, or write ${NAME:-default}";

/// Where a value may be looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupScope {
    /// The server's own variables, the variables file, the environment.
    All,
    /// The variables file and the environment, for the server's own variables.
    Outside,
    /// Only the server's own variables, for what a project sends away; missing ones are empty.
    Own,
}

/// The position of a value, for messages, and its lookup scope.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'static str,
    pub(super) entry: Option<&'a str>,
    pub(super) lookup: LookupScope,
}

impl<'a> Field<'a> {
    pub(super) fn new(name: &'static str, lookup: LookupScope) -> Self {
        Field { name, entry: None, lookup }
    }

    pub(super) fn entry(self, entry: &'a str) -> Self {
        Field { entry: Some(entry), ..self }
    }

    pub(super) fn label(&self) -> String {
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
    mask_builder: MaskBuilder,
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
            mask_builder: MaskBuilder::default(),
            files,
            warnings,
        }
    }

    /// Reads a file that the definition names as `written`.
    pub(super) fn read_file(
        &mut self,
        path: &Path,
        written: &str,
    ) -> Result<String, text_file::TextFileError> {
        self.files.read(path, written)
    }

    /// Marks a file that was read as one with a private key.
    pub(super) fn mark_private(&mut self, path: &Path) {
        self.files.mark_private(path);
    }

    /// The files that were read so far.
    pub(super) fn take_files(&mut self) -> Files {
        std::mem::take(&mut self.files)
    }

    /// The secrets that references have resolved to so far.
    pub(super) fn take_mask_builder(&mut self) -> MaskBuilder {
        std::mem::take(&mut self.mask_builder)
    }

    pub(super) fn add_secret(&mut self, value: &str) {
        self.mask_builder.value(value);
    }

    /// Sets the server's own variables.
    pub(super) fn set_own(&mut self, own: IndexMap<String, String>) {
        self.own = own;
    }

    /// The lookup scope of a field that is sent away.
    pub(super) fn sent_lookup(&self) -> LookupScope {
        if self.scope.level == Level::Project { LookupScope::Own } else { LookupScope::All }
    }

    /// Expands the references of a value.
    pub(super) fn expand(&mut self, field: Field<'_>, text: &str) -> Result<String> {
        if !text.contains(OPEN) {
            return Ok(text.to_owned());
        }
        let template = Template::new(text);
        let mut expansion = Expansion { field, template: &template, out: String::new() };
        self.expand_range(&mut expansion, 0..text.len(), 0)?;
        Ok(expansion.out)
    }

    /// The value of the variable with this bare name, if it is set.
    pub(super) fn bare_name_value(&mut self, field: Field<'_>, text: &str) -> Option<String> {
        let wanted = self.scope.bare_env_names && field.lookup != LookupScope::Own && is_name(text);
        let value = if wanted { self.look_up(field.lookup, text) } else { None };
        if is_secret_key(text) {
            self.mask_builder.extend(value.as_deref());
        }
        value
    }

    fn expand_range(
        &mut self,
        expansion: &mut Expansion<'_, '_>,
        range: Range<usize>,
        depth: usize,
    ) -> Result<()> {
        let text = expansion.template.text;
        if depth > DEPTH_LIMIT {
            return Err(self.invalid(expansion.field, "has references that are nested too deeply"));
        }
        let mut at = range.start;
        while let Some(step) = memchr::memchr(b'$', &text.as_bytes()[at..range.end]) {
            let dollar = at + step;
            self.push(expansion, &text[at..dollar])?;
            if text[dollar..range.end].starts_with(ESCAPED) {
                self.push(expansion, OPEN)?;
                at = dollar + ESCAPED.len();
            } else if let Some((reference, after)) = expansion.template.reference_at(dollar) {
                self.push_reference(expansion, reference, dollar..after, depth)?;
                at = after;
            } else {
                self.push(expansion, "$")?;
                at = dollar + 1;
            }
        }
        self.push(expansion, &text[at..range.end])
    }

    fn push_reference(
        &mut self,
        expansion: &mut Expansion<'_, '_>,
        reference: Reference<'_>,
        whole: Range<usize>,
        depth: usize,
    ) -> Result<()> {
        let field = expansion.field;
        match reference {
            Reference::Input(id) => {
                let why = format!(
                    "refers to ${{input:{id}}}, which is asked for only by the host that the file was written for"
                );
                self.unresolved(expansion, whole, &why, None)
            }
            Reference::File(path) => match self.file_content(expansion, path.clone(), depth)? {
                Ok(content) => {
                    self.mask_builder.value(&content);
                    self.push(expansion, &content)
                }
                Err(why) => {
                    let path = &expansion.template.text[path];
                    let why = format!("refers to ${{file:{path}}}, which cannot be used: {why}");
                    self.unresolved(expansion, whole, &why, None)
                }
            },
            Reference::Variable { name, explicit, fallback } => {
                let value = match explicit {
                    false => self.predefined(field.lookup, name),
                    true => None,
                };
                let value = value.or_else(|| self.look_up(field.lookup, name));
                let is_secret = is_secret_key(name);
                if is_secret {
                    self.mask_builder.extend(value.as_deref());
                    if let Fallback::Default(range) = &fallback {
                        self.mask_builder.value(&expansion.template.text[range.clone()]);
                    }
                }
                match (value, fallback) {
                    (Some(value), Fallback::Unresolved) => self.push(expansion, &value),
                    (Some(value), _) if !value.is_empty() => self.push(expansion, &value),
                    (_, Fallback::Default(range)) => {
                        let start = expansion.out.len();
                        self.expand_range(expansion, range, depth + 1)?;
                        if is_secret {
                            // The default may contain references itself.
                            self.mask_builder.value(&expansion.out[start..]);
                        }
                        Ok(())
                    }
                    (_, Fallback::Error(message)) => Err(self.missing(field, name, message)),
                    (None, Fallback::Unresolved) => {
                        let (why, hint) = match field.lookup {
                            LookupScope::Own => (
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
                        self.unresolved(expansion, whole, &why, hint)
                    }
                }
            }
        }
    }

    /// The value of a predefined name.
    fn predefined(&self, lookup: LookupScope, name: &str) -> Option<String> {
        let text = |path: PathBuf| path.into_os_string().into_string().ok();
        if lookup == LookupScope::Own {
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

    fn look_up(&mut self, lookup: LookupScope, name: &str) -> Option<String> {
        if let Some(value) = self.own.get(name).filter(|_| lookup != LookupScope::Outside) {
            return Some(value.clone());
        }
        if lookup == LookupScope::Own {
            return None;
        }
        if let Some(value) = self.variables.get(name) {
            return Some(value.clone());
        }
        // Cached: reading the process's environment takes a lock and a linear search.
        if let Some(value) = self.environment.get(name) {
            return value.clone();
        }
        let value = self.scope.host_env.var(name);
        self.environment.insert(name.to_owned(), value.clone());
        value
    }

    /// The content of a file, or why it cannot be used.
    fn file_content(
        &mut self,
        expansion: &Expansion<'_, '_>,
        path: Range<usize>,
        depth: usize,
    ) -> Result<Result<String, String>> {
        if expansion.field.lookup == LookupScope::Own {
            return Ok(Err("a project's headers and addresses hold no files".to_owned()));
        }
        let (field, template) = (expansion.field, expansion.template);
        let mut named = Expansion { field, template, out: String::new() };
        let written = &template.text[path.clone()];
        self.expand_range(&mut named, path, depth + 1)?;
        let content = self.read_file(&path_in(self.scope, &named.out), written);
        Ok(match content {
            Ok(content) => Ok(content.trim_end_matches(['\r', '\n']).to_owned()),
            Err(problem) => Err(problem.text().to_owned()),
        })
    }

    fn unresolved(
        &mut self,
        expansion: &mut Expansion<'_, '_>,
        whole: Range<usize>,
        why: &str,
        hint: Option<&'static str>,
    ) -> Result<()> {
        let shown = expansion.field.label();
        if expansion.field.lookup == LookupScope::Own {
            self.warnings.push_with_hint(&format!("{shown} {why}; it is left empty"), hint);
            return Ok(());
        }
        self.warnings.push_with_hint(&format!("{shown} {why}; it stays as it is"), hint);
        self.push(expansion, &expansion.template.text[whole])
    }

    fn push(&mut self, expansion: &mut Expansion<'_, '_>, text: &str) -> Result<()> {
        if expansion.out.len() + text.len() > VALUE_LIMIT || text.len() > self.left {
            return Err(
                self.invalid(expansion.field, "is too long once its references are replaced")
            );
        }
        self.left -= text.len();
        expansion.out.push_str(text);
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
        let text = format!("{} {what}", field.label());
        Error::new(ErrorKind::ConfigInvalid, text).with_server(server)
    }
}

/// A value during its expansion.
struct Expansion<'a, 't> {
    field: Field<'a>,
    template: &'a Template<'t>,
    out: String,
}

/// Removes escapes, for values whose references are not expanded.
pub(super) fn unescaped(text: &str) -> String {
    text.replace(ESCAPED, OPEN)
}

fn workspace(scope: &Scope) -> Option<PathBuf> {
    scope.workspace.clone().or_else(|| directory(scope))
}

/// The base of relative paths.
pub(super) fn directory(scope: &Scope) -> Option<PathBuf> {
    scope.directory.clone().or_else(|| std::env::current_dir().ok())
}

/// Resolves a path in its scope.
pub(super) fn path_in(scope: &Scope, path: &str) -> PathBuf {
    path_from(scope, directory(scope), path)
}

/// Resolves a path that is relative to the file of its definition, where that was opened by name.
pub(super) fn path_beside_file(scope: &Scope, path: &str) -> PathBuf {
    path_from(scope, scope.file_directory.clone().or_else(|| directory(scope)), path)
}

fn path_from(scope: &Scope, base: Option<PathBuf>, path: &str) -> PathBuf {
    let at_home = path.strip_prefix("~/").or((path == "~").then_some(""));
    if let Some((rest, home)) = at_home.zip(scope.host_env.home()) {
        return home.join(rest);
    }
    match base {
        Some(base) => base.join(path),
        None => Path::new(path).to_owned(),
    }
}

#[cfg(test)]
mod tests;
