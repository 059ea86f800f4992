//! Owns what is known of a product that configures MCP servers: where its files are, how they are structured, and what
//! their fields mean. `table` has a row for each product, `recognise` tells which row a file has, `normalise` translates
//! an entry into our model, and `denormalise` writes one, with the product's `wording`.
//! Invariant: no code outside of `table` and `wording` knows a product by name.

use serde_json::{Map, Value};

use crate::config::Level;
use crate::config::parse::Format;
use crate::config::syntax::Syntax;

mod denormalise;
mod entry;
mod inputs;
mod named_references;
mod normalise;
mod recognise;
mod retry;
mod table;
mod tool_switches;
mod wording;

pub(crate) use denormalise::{
    Denormalised, Unsayable, denormalise, own_words_of, words_of, written_with,
};
pub(crate) use inputs::Inputs;
pub(crate) use named_references::KeptReferences;
pub(crate) use normalise::{TOOLS, normalise};
pub(crate) use recognise::{recognise, unread_containers};
pub(crate) use table::{OWN, PROVIDERS};
pub(crate) use tool_switches::ToolSwitches;
pub(crate) use wording::{FieldWord, Wording};

/// One product.
#[derive(Clone, Copy)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    /// Higher comes first; equal ones keep the table's order.
    pub(crate) priority: u8,
    /// Its files; the project's come before the user's, otherwise in this order.
    pub(crate) locations: &'static [FileLocation],
    /// Where in a file the servers are, in order of precedence.
    pub(crate) containers: &'static [&'static [Step]],
    /// The transport of an entry with a `url` and no type, if it is not Streamable HTTP.
    pub(crate) url_type: Option<&'static str>,
    pub(crate) times: &'static [TimeField],
    pub(crate) syntax: Syntax,
    /// Lists of server names.
    pub(crate) lists: &'static [NameList],
    /// The object that switches tools of all its servers on or off.
    pub(crate) tool_switches: Option<&'static str>,
    /// Entries that are part of the product, not servers.
    pub(crate) built_in: &'static [BuiltIn],
    /// Whether `command` is a shell command line that must be split.
    pub(crate) command_line: bool,
    /// The file of variables beside the config file.
    pub(crate) variables: Option<&'static str>,
    /// Whether a value may be the bare name of a variable.
    pub(crate) bare_env_names: bool,
    /// The lists that declare `${input:id}`.
    pub(crate) inputs: &'static [&'static [Step]],
    /// Whether an empty list of enabled tools means all of them.
    pub(crate) empty_list_is_all: bool,
    /// Fields that say how often a lost server is tried again, in seconds.
    pub(crate) retry: &'static [&'static str],
    /// Fields that mean nothing outside of the product and are dropped without a warning. None of them switches anything
    /// off or restricts anything.
    pub(crate) quiet: &'static [&'static str],
    /// What tells its documents from those of another product with the same container.
    pub(crate) signs: &'static [Sign],
    /// The files are mcpool's own: definitions are taken as written.
    pub(crate) is_own: bool,
    /// How it writes a server.
    pub(crate) wording: Wording,
}

impl Provider {
    /// Where this document keeps its servers.
    pub(crate) fn container_in(&self, document: &Map<String, Value>) -> Option<&'static [Step]> {
        let is_there = |steps: &&[Step]| at_end_of(document, steps).is_some();
        self.containers.iter().copied().find(is_there)
    }

    /// The servers of this document, with the key that they have in it, or would have.
    pub(crate) fn servers_in<'d>(
        &self,
        document: &'d Map<String, Value>,
    ) -> (String, Option<&'d Value>) {
        let usual = self.containers.iter().find(|steps| !is_by_project(steps)).copied();
        let steps = self.container_in(document).or(usual).unwrap_or_default();
        (keys(steps), at_end_of(document, steps))
    }

    /// Its lists, and our own, which are about its servers alone in its documents.
    pub(crate) fn all_lists(&self) -> impl Iterator<Item = NameList> + use<> {
        let own = self.lists;
        let is_its = move |list: &NameList| own.iter().any(|its| its.name() == list.name());
        let ours = OWN.lists.iter().filter(move |list| !is_its(list));
        let ours = ours.map(|list| NameList { scope: ListScope::Provider, ..*list });
        self.lists.iter().copied().chain(ours)
    }

    /// Its fields for times, and those whose names say what their unit is.
    pub(crate) fn all_times(&self) -> impl Iterator<Item = TimeField> + use<> {
        let own = self.times;
        let is_its = move |time: &&TimeField| own.iter().any(|its| its.field == time.field);
        own.iter().chain(OWN.times.iter().filter(move |time| !is_its(time))).copied()
    }

    /// Whether servers may also stand under the directory of a project.
    pub(crate) fn has_servers_by_project(&self) -> bool {
        self.containers.iter().any(|steps| is_by_project(steps))
    }
}

fn is_by_project(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::ProjectPath))
}

/// The keys of `steps`, as one text.
fn keys(steps: &[Step]) -> String {
    let keys = steps.iter().map(|step| match step {
        Step::Key(key) => key,
        Step::ProjectPath => "*",
    });
    keys.collect::<Vec<_>>().join(".")
}

/// The value at the end of `steps`, if all of them are keys.
fn at_end_of<'d>(document: &'d Map<String, Value>, steps: &[Step]) -> Option<&'d Value> {
    let mut steps = steps.iter();
    let Some(Step::Key(first)) = steps.next() else { return None };
    let found = steps.try_fold(document.get(*first)?, |at, step| match step {
        Step::Key(key) => at.get(key),
        Step::ProjectPath => None,
    });
    found.filter(|found| !found.is_null())
}

/// A file, or the files of a directory if the path ends in `*`.
#[derive(Clone, Copy)]
pub(crate) struct FileLocation {
    pub(crate) level: Level,
    pub(crate) base: Base,
    /// Relative to the base, separated by `/`.
    pub(crate) path: &'static str,
}

/// The base directory of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    Project,
    Home,
    /// `$XDG_CONFIG_HOME` and `~/.config`.
    Config,
    /// `%APPDATA%`, on Windows.
    AppData,
    /// `~/Library/Application Support`, on macOS.
    Library,
    /// Visual Studio Code's user directory.
    CodeUser,
    /// The directory that a variable names.
    Env(&'static str),
    /// `/etc`, except on Windows.
    System,
    /// Our own directory in the project.
    OwnProject,
    /// Our own config directory of the user.
    OwnUser,
}

/// One step from a document to its servers.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Key(&'static str),
    /// The key is the project's directory.
    ProjectPath,
}

/// A timeout field of the product.
#[derive(Clone, Copy)]
pub(crate) struct TimeField {
    pub(crate) field: &'static str,
    pub(crate) unit_ms: u64,
    /// Whether it must be a whole number.
    pub(crate) is_whole: bool,
    /// The fields of our model that it sets.
    pub(crate) sets: &'static [&'static str],
}

/// A list of server names.
#[derive(Clone, Copy)]
pub(crate) struct NameList {
    pub(crate) path: &'static [Step],
    pub(crate) effect: ListEffect,
    pub(crate) scope: ListScope,
}

impl NameList {
    /// The key that holds the list.
    pub(crate) fn name(&self) -> String {
        keys(self.path)
    }
}

/// What a list does with the servers that it names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListEffect {
    /// These are disabled, whatever else is said.
    Off,
    /// Only these are enabled.
    Only,
    /// These are enabled although their entries say no. Only the user's files may say so.
    On,
}

/// Which servers a list is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListScope {
    /// The product's own servers.
    Provider,
    /// All discovered servers.
    Everything,
}

/// What only one of several products with the same container has.
#[derive(Clone, Copy)]
pub(crate) enum Sign {
    /// The format of its files.
    Format(Format),
    /// A field of an entry.
    Field(&'static str),
    /// A field of an entry with this text.
    Text(&'static str, &'static str),
    /// A field of an entry that is a list.
    List(&'static str),
    /// Its servers are a list with names.
    ListOfServers,
}

/// How to recognise an entry that is part of the product.
#[derive(Clone, Copy)]
pub(crate) enum BuiltIn {
    Is(&'static str, &'static str),
    /// It could be taken for a server, but only the product can run it: that it is left out is told.
    Foreign(&'static str, &'static str),
    /// It has none of these fields.
    Without(&'static [&'static str]),
}
