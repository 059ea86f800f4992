//! Writes the classes of Python, formatted as `ruff` would.

use super::{
    FIELDS, FieldInfo, FieldKind, OBJECTS, ObjectInfo, class_name, class_names, is_timeout,
};
use crate::error::ErrorKind;
use crate::generated_file::{WIDTH, docstring, wrap};

const HEAD: &str = r#""""The classes of errors: McpoolError with its fields, and one class for each code.

Generated from the lists in `core/src/error`; not to be edited.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._error_text import error_html, error_text
"#;
const ABOUT: &str =
    "Base of all errors. Fields that do not apply are None; the cause is `__cause__`.";

const METHODS: &str = r#"
    def __reduce__(self) -> tuple[type[McpoolError], tuple[Any, ...], dict[str, Any]]:
        # Exceptions are copied and pickled without their causes; setting one suppresses the context.
        cause = {} if self.__cause__ is None else {"__cause__": self.__cause__}
        return type(self), self.args, {**vars(self), **cause}

    def __str__(self) -> str:
        return error_text(self)

    def _repr_html_(self) -> str:
        return error_html(self)
"#;

pub(super) fn module() -> String {
    let classes = ErrorKind::ALL.iter().copied().map(class);
    [
        HEAD,
        "\n",
        &list_of_names("="),
        &OBJECTS.iter().map(object).collect::<String>(),
        &base_class(),
        &classes.collect::<String>(),
        "\n\nBY_CODE: dict[str, type[McpoolError]] = {cls.code: cls for cls in McpoolError.__subclasses__()}\n",
        &text_of_help(),
    ]
    .concat()
}

/// The names that the package exports. They are listed there once more, because mypy reads only literal lists.
pub(super) fn exports() -> String {
    list_of_names("+=")
}

fn list_of_names(operator: &str) -> String {
    let mut names = class_names();
    names.extend(OBJECTS.map(|object| object.name.to_owned()));
    names.sort();
    let names = names.into_iter().map(|name| format!("    \"{name}\",\n"));
    format!("__all__ {operator} [\n{}]\n", names.collect::<String>())
}

fn object(object: &ObjectInfo) -> String {
    let mut text =
        format!("\n\nclass {}(NamedTuple):\n{}\n", object.name, docstring("    ", object.about));
    for field in object.fields {
        let default = if field.is_optional { " = None" } else { "" };
        text += &format!("    {}: {}{default}\n", field.name, type_of(field));
        text += &docstring("    ", field.about);
    }
    text
}

/// The fields of an instance, or of its class. The cause is Python's own.
fn fields() -> impl Iterator<Item = &'static FieldInfo> {
    FIELDS.iter().filter(|field| field.kind != FieldKind::Cause)
}

/// The default of a field that is decided by the class.
fn class_default(field: &FieldInfo) -> Option<&'static str> {
    match field.name {
        "code" => Some("\"\""),
        "retryable" => Some("False"),
        _ => None,
    }
}

fn base_class() -> String {
    let mut text = format!("\n\nclass McpoolError(Exception):\n{}\n", docstring("    ", ABOUT));
    for field in fields() {
        let default = class_default(field).map(|it| format!(" = {it}")).unwrap_or_default();
        text += &format!("    {}: {}{default}\n", field.name, type_of(field));
        text += &docstring("    ", &field.about_with_words());
    }
    text += "\n    def __init__(\n        self,\n        message: str = \"\",\n        *,\n";
    let of_instances = || fields().filter(|field| class_default(field).is_none());
    let keywords = || of_instances().filter(|field| field.name != "message");
    for field in keywords() {
        let (or_none, default) = match field.kind {
            FieldKind::Flag => ("", "False"),
            _ if type_of(field).ends_with("None") => ("", "None"),
            _ => (" | None", "None"),
        };
        text += &format!("        {}: {}{or_none} = {default},\n", field.name, type_of(field));
    }
    text += "    ) -> None:\n        super().__init__(message)\n";
    for field in of_instances() {
        let value = match field.name {
            "by_server" => "by_server or rpc is not None",
            "text" => "message if text is None else text",
            name => name,
        };
        text += &format!("        self.{} = {value}\n", field.name);
    }
    text + METHODS
}

fn class(kind: ErrorKind) -> String {
    let bases = if is_timeout(kind) { "McpoolError, TimeoutError" } else { "McpoolError" };
    let about = docstring("    ", kind.about());
    let retryable = if kind.retryable() { "    retryable = True\n" } else { "" };
    format!(
        "\n\nclass {}({bases}):\n{about}\n    code = \"{}\"\n{retryable}",
        class_name(kind),
        kind.code()
    )
}

/// `help()` does not show the docstrings of attributes.
fn text_of_help() -> String {
    let mut text = format!(
        "\n# What help() shows: it leaves out the docstrings of attributes.\nMcpoolError.__doc__ = \"\"\"{ABOUT}\n\n"
    );
    for field in fields() {
        let lines = wrap(&format!("`{}`: {}", field.name, field.about_with_words()), WIDTH);
        text += &format!("{}\n", lines.join("\n"));
    }
    text + "\"\"\"\n"
}

fn type_of(field: &FieldInfo) -> String {
    let name = match field.kind {
        FieldKind::Any => return "Any".to_owned(),
        FieldKind::Text | FieldKind::Words { .. } => "str",
        FieldKind::Number => "int",
        FieldKind::Flag => "bool",
        FieldKind::Object(name) => name,
        FieldKind::Cause => "BaseException",
    };
    let may_be_none = field.is_optional || field.name == "model_message";
    if may_be_none { format!("{name} | None") } else { name.to_owned() }
}
