//! Owns the TypeScript file: an interface for each group.

use serde_json::Value;

use super::Group;
use crate::call::CallOptions;
use crate::camel_case::camel_case;
use crate::generated_file::wrap;
use crate::options::{Language, OptionInfo, OptionKind};

const HEAD: &str = "\
// The options of managers, discovery, pools, calls and edits. Generated from the tables in `core`; not to be edited.
import type { Cancellable } from './abort.js';
import type { Arguments, OnProgress } from './calls.js';
import type { ClientInfo } from './client-info.js';
import type { HostEnv } from './host-env.js';
import type { Pool } from './pool.js';
import type { LoginStore, OnApproval, OnAuth, OnElicitation, OnIdentity, OnSampling } from './questions.js';
import type { Naming } from './tool.js';
import type { Trust } from './trust.js';
";

const WIDTH: usize = 110;

pub(super) fn file(groups: &[Group]) -> String {
    let mut text = HEAD.to_owned();
    for group in groups {
        let extends = match group.name {
            "CallOptions" => " extends Cancellable".to_owned(),
            _ => group.extends.map(|base| format!(" extends {base}")).unwrap_or_default(),
        };
        text += &format!("\n/** {} */\nexport interface {}{extends} {{\n", group.about, group.name);
        text.extend(group.options.iter().map(field));
        text += "}\n";
    }
    let both = "DiscoverManagerOptions extends DiscoverOptions, FileOptions";
    text += &format!(
        "\n/** Options of a manager that is made by discovery. */\nexport interface {both} {{}}\n"
    );
    text + &call_option_names()
}

/// The place of a name is that of the option in the core's table, by which it is passed to the core.
fn call_option_names() -> String {
    let names = CallOptions::OPTIONS.iter().map(|option| option.name_in(Language::Node));
    let names: String = names.map(|name| format!("  '{name}',\n")).collect();
    format!(
        "\n/** The options of a call, in the order of the core's table. */\nexport const CALL_OPTIONS = [\n{names}] as const;\n"
    )
}

fn field(option: &OptionInfo) -> String {
    let name = option.name_in(Language::Node);
    format!("{}  {name}?: {} | undefined;\n", comment(option), type_of(option))
}

fn comment(option: &OptionInfo) -> String {
    let unit = if (option.kind)().is_time() { " In milliseconds." } else { "" };
    let default = match (option.default)() {
        Value::Null => String::new(),
        Value::String(word) => format!(" Default: '{word}'."),
        other => format!(" Default: {other}."),
    };
    let about = format!("{}{unit}{default}", in_camel_case(option.about));
    match wrap(&about, WIDTH - 6).as_slice() {
        [line] if line.len() <= WIDTH - 10 => format!("  /** {line} */\n"),
        lines => format!("  /**\n   * {}\n   */\n", lines.join("\n   * ")),
    }
}

/// Names of code are between backticks.
fn in_camel_case(about: &str) -> String {
    let parts = about.split('`').enumerate();
    // A name of the protocol, such as `_meta`, stays as it is.
    let is_ours = |at: usize, part: &str| at % 2 == 1 && !part.starts_with('_');
    let parts =
        parts.map(|(at, part)| if is_ours(at, part) { camel_case(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

fn type_of(option: &OptionInfo) -> String {
    let union = |words: &[&str]| {
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" | ")
    };
    match (option.kind)() {
        OptionKind::Flag => "boolean".to_owned(),
        OptionKind::Count | OptionKind::Time => "number".to_owned(),
        OptionKind::TimeOrWords(words) => format!("number | {}", union(words)),
        OptionKind::Texts => "readonly string[]".to_owned(),
        OptionKind::Object => "Arguments".to_owned(),
        OptionKind::Text(_) => "string".to_owned(),
        OptionKind::Headers => "Headers | Readonly<Record<string, string>>".to_owned(),
        OptionKind::HeadersByServer => {
            "Readonly<Record<string, string | Readonly<Record<string, string>>>>".to_owned()
        }
        OptionKind::Words(words) => union(words),
        OptionKind::FlagOrWords(words) => format!("boolean | {}", union(words)),
        OptionKind::Path => "string | URL".to_owned(),
        OptionKind::PathOrFalse => "string | URL | false".to_owned(),
        OptionKind::Pool => "Pool".to_owned(),
        OptionKind::Function(name)
        | OptionKind::WordsOrFunction(name, _)
        | OptionKind::Declared(name, _) => name.to_owned(),
    }
}

#[test]
fn names_in_descriptions_are_those_of_the_language() {
    assert_eq!(in_camel_case("see `connect_all` and x_y"), "see `connectAll` and x_y");
    assert_eq!(in_camel_case("`_meta`"), "`_meta`");
}
