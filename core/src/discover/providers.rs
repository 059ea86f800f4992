//! Owns what is known of a product that configures MCP servers: where its files are, how they are structured, and what
//! their fields mean. `table` has a row for each product; no other code knows a product by name.

use crate::config::Level;
use crate::config::syntax::Syntax;

mod table;

pub(super) use table::PROVIDERS;

/// One product.
#[derive(Clone, Copy)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// Higher comes first; equal ones keep the table's order.
    pub(super) priority: u8,
    /// Its files; the project's come before the user's, otherwise in this order.
    pub(super) locations: &'static [FileLocation],
    /// Where in a file the servers are, in order of precedence.
    pub(super) containers: &'static [&'static [Step]],
    /// The transport of an entry with a `url` and no type, if it is not Streamable HTTP.
    pub(super) url_type: Option<&'static str>,
    pub(super) times: &'static [TimeField],
    pub(super) syntax: Syntax,
    /// Lists of server names.
    pub(super) lists: &'static [NameList],
    /// Entries that are part of the product, not servers.
    pub(super) built_in: &'static [BuiltIn],
    /// Whether `command` is a shell command line that must be split.
    pub(super) command_line: bool,
    /// The file of variables beside the config file.
    pub(super) variables: Option<&'static str>,
    /// Whether a value may be the bare name of a variable.
    pub(super) bare_env_names: bool,
    /// The list that declares `${input:id}`.
    pub(super) inputs: Option<&'static str>,
    /// The files are mcpool's own: definitions are taken as written.
    pub(super) is_own: bool,
}

/// A file, or the files of a directory if the path ends in `*`.
#[derive(Clone, Copy)]
pub(super) struct FileLocation {
    pub(super) level: Level,
    pub(super) base: Base,
    /// Relative to the base, separated by `/`.
    pub(super) path: &'static str,
}

/// The base directory of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
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
pub(super) enum Step {
    Key(&'static str),
    /// The key is the project's directory.
    ProjectPath,
}

/// A timeout field of the product.
#[derive(Clone, Copy)]
pub(super) struct TimeField {
    pub(super) field: &'static str,
    pub(super) unit_ms: u64,
    /// The fields of our model that it sets.
    pub(super) sets: &'static [&'static str],
}

/// A list of server names.
#[derive(Clone, Copy)]
pub(super) struct NameList {
    pub(super) path: &'static [Step],
    pub(super) effect: ListEffect,
    pub(super) scope: ListScope,
}

impl NameList {
    /// The key that holds the list.
    pub(super) fn name(&self) -> String {
        let keys = self.path.iter().map(|step| match step {
            Step::Key(key) => key,
            Step::ProjectPath => "*",
        });
        keys.collect::<Vec<_>>().join(".")
    }
}

/// What a list does with the servers that it names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListEffect {
    /// These are disabled, whatever else is said.
    Off,
    /// Only these are enabled.
    Only,
    /// These are enabled although their entries say no. Only the user's files may say so.
    On,
}

/// Which servers a list is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListScope {
    /// The product's own servers.
    Provider,
    /// All discovered servers.
    Everything,
}

/// How to recognise an entry that is part of the product.
#[derive(Clone, Copy)]
pub(super) enum BuiltIn {
    Is(&'static str, &'static str),
    /// It has none of these fields.
    Without(&'static [&'static str]),
}
