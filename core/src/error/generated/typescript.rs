//! Writes the classes of TypeScript, formatted as `biome` would.

use super::{
    FIELDS, FieldInfo, FieldKind, OBJECTS, ObjectInfo, class_name, class_names, is_timeout,
};
use crate::camel_case::camel_case;
use crate::error::ErrorKind;
use crate::generated_file::doc_comment;

const HEAD: &str = "\
// The classes of errors: McpoolError with its fields, and one class for each code.
// Generated from the lists in `core/src/error`; not to be edited.
// biome-ignore-all lint/complexity/noThisInStatic: `this` is the subclass that is asked.
";
const ESM_HEAD: &str = "\
// The classes of errors for `import`; the module for `require` has the markers of CommonJS too.
// Generated from the lists in `core/src/error`; not to be edited.
";
const TIMEOUT: &str = " Its `name` is `TimeoutError`, as for every timeout in JavaScript.";

const HELPERS: &str = "
/** Marks our errors, also those of another copy of the package: test runners load it once for each test file. */
const BRAND: unique symbol = Symbol.for('mcpool.error');

/** Of a foreign error only what is its own in any library: its other fields may be large, or hold secrets. */
function causeToJson(cause: unknown): unknown {
  if (typeof cause !== 'object' || cause === null) return typeof cause === 'symbol' ? String(cause) : cause;
  if (McpoolError.isInstance(cause)) return cause.toJSON();
  const { name, message, code, errno } = cause as Record<string, unknown>;
  const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number';
  return Object.fromEntries(Object.entries({ name, message, code, errno }).filter(([, it]) => isPlain(it)));
}
";

const BASE_METHODS: &str = "
  /**
   * Whether this is an error of this class, also one of another copy of the package or of another realm, as test
   * runners make them. `instanceof` answers the same.
   */
  static isInstance<T extends typeof McpoolError>(this: T, error: unknown): error is InstanceType<T> {
    if (Function.prototype[Symbol.hasInstance].call(this, error)) return true;
    // A subclass of somebody else has no code of its own, and no other copy.
    if (!Object.hasOwn(this, 'code') || typeof error !== 'object' || error === null) return false;
    const { [BRAND]: brand, code } = error as { [BRAND]?: unknown; code?: unknown };
    return brand === true && (this.code === '' || this.code === code);
  }

  static override [Symbol.hasInstance](error: unknown): boolean {
    return this.isInstance(error);
  }

  /** The name, the message and all fields; without the stack. */
  toJSON(): Record<string, unknown> {
    const { name, message, cause } = this;
    const json = { name, message, ...(this as object) };
    return cause === undefined ? json : { ...json, cause: causeToJson(cause) };
  }

  /** The name of the class and the `text`. */
  override toString(): string {
    return `${this.name}: ${this.text}`;
  }
";

pub(super) fn module() -> String {
    let kinds = || ErrorKind::ALL.iter().copied();
    let codes = kinds().map(|kind| format!("\n  | '{}'", kind.code()));
    let names = kinds().map(|kind| {
        let class = class_name(kind);
        let name = if is_timeout(kind) { "TimeoutError" } else { &class };
        format!("  [{class}, '{name}'],\n")
    });
    [
        HEAD,
        &words(),
        "\n/** Every code there is. */\nexport type ErrorCode =",
        &codes.collect::<String>(),
        ";\n",
        &OBJECTS.iter().map(object).collect::<String>(),
        &details(),
        HELPERS,
        &base_class(),
        &kinds().map(class).collect::<String>(),
        "\nconst names: [typeof McpoolError, string][] = [\n  [McpoolError, 'McpoolError'],\n",
        &names.collect::<String>(),
        "];\n\nObject.defineProperty(McpoolError.prototype, BRAND, { value: true });\n",
        "\n// Not enumerable, like the names of JavaScript's own errors.\n",
        "for (const [{ prototype }, value] of names) {\n",
        "  Object.defineProperty(prototype, 'name', { value, writable: true, configurable: true });\n}\n",
    ]
    .concat()
}

pub(super) fn esm_module() -> String {
    let mut names = class_names();
    names.sort_by_key(|name| name.to_lowercase());
    let names = names.into_iter().map(|name| format!("  {name},\n"));
    format!("{ESM_HEAD}export {{\n{}}} from './error-classes.js';\n", names.collect::<String>())
}

/// The fields that the constructor takes besides the message, in an object.
fn in_details() -> impl Iterator<Item = &'static FieldInfo> {
    FIELDS.iter().filter(|field| !matches!(field.name, "code" | "message"))
}

/// The fields that our class adds: the message and the cause are those of every error.
fn own() -> impl Iterator<Item = &'static FieldInfo> {
    FIELDS.iter().filter(|field| field.name != "message" && field.kind != FieldKind::Cause)
}

fn words() -> String {
    let types = FIELDS.iter().filter_map(|field| match field.kind {
        FieldKind::Words { name, about, words } => {
            let about = doc_comment("", about);
            Some(format!("\n{about}export type {name} = '{}';\n", words.join("' | '")))
        }
        _ => None,
    });
    types.collect()
}

fn object(object: &ObjectInfo) -> String {
    let mut text =
        format!("\n{}export interface {} {{\n", doc_comment("", object.about), object.name);
    for field in object.fields {
        let optional = if field.is_optional { "?" } else { "" };
        text += &doc_comment("  ", field.about);
        text += &format!("  readonly {}{optional}: {};\n", camel_case(field.name), type_of(field));
    }
    text + "}\n"
}

fn details() -> String {
    let fields = in_details().map(|field| {
        let (name, typed) = (camel_case(field.name), type_of(field));
        // `unknown` already includes it.
        let or_undefined = if typed == "unknown" { "" } else { " | undefined" };
        format!("  readonly {name}?: {typed}{or_undefined};\n")
    });
    let about = doc_comment("", "The fields of an error besides its code and message.");
    format!("\n{about}export interface ErrorDetails {{\n{}}}\n", fields.collect::<String>())
}

fn base_class() -> String {
    let about = "Every error of mcpool. The class, or `code`, says what went wrong; the message is for people.";
    let mut text =
        format!("\n{}export class McpoolError extends Error {{\n", doc_comment("", about));
    text += "  static readonly code: ErrorCode | '' = '';\n";
    text += &doc_comment("  ", "`retryable` of an error that does not say otherwise.");
    text += "  static readonly retryable: boolean = false;\n";
    for field in own() {
        let (name, typed) = (camel_case(field.name), type_of(field));
        text += &doc_comment("  ", field.about);
        text += &match field.name {
            "code" => "  readonly code: ErrorCode;\n".to_owned(),
            "retryable" => format!("  readonly {name}: {typed};\n"),
            "text" => format!("  declare readonly {name}: {typed};\n"),
            // `declare` leaves an absent field out of the object.
            _ => format!("  declare readonly {name}?: {typed};\n"),
        };
    }
    text += "\n  constructor(message: string, details: ErrorDetails = {}) {\n";
    text +=
        "    super(message, details.cause === undefined ? undefined : { cause: details.cause });\n";
    text += "    this.code = new.target.code as ErrorCode;\n";
    for field in own().filter(|field| field.name != "code") {
        let name = camel_case(field.name);
        text += &match field.name {
            "retryable" => {
                "    this.retryable = details.retryable ?? new.target.retryable;\n".to_owned()
            }
            "by_server" => {
                "    if (details.byServer || details.rpc != null) this.byServer = true;\n"
                    .to_owned()
            }
            // Not enumerable: they repeat the message, and would fill logs.
            "text" => format!(
                "    Object.defineProperty(this, '{name}', {{ value: details.{name} ?? message }});\n"
            ),
            "model_message" => {
                format!("    Object.defineProperty(this, '{name}', {{ value: details.{name} }});\n")
            }
            _ => format!("    if (details.{name} != null) this.{name} = details.{name};\n"),
        };
    }
    text + "  }\n" + BASE_METHODS + "}\n"
}

fn class(kind: ErrorKind) -> String {
    let about = kind.about().to_owned() + if is_timeout(kind) { TIMEOUT } else { "" };
    let retryable =
        if kind.retryable() { "  static override readonly retryable = true;\n" } else { "" };
    format!(
        "\n{}export class {} extends McpoolError {{\n  static override readonly code = '{}';\n{retryable}}}\n",
        doc_comment("", &about),
        class_name(kind),
        kind.code()
    )
}

fn type_of(field: &FieldInfo) -> &'static str {
    match field.kind {
        FieldKind::Text => "string",
        FieldKind::Number => "number",
        FieldKind::Flag => "boolean",
        FieldKind::Words { name, .. } | FieldKind::Object(name) => name,
        FieldKind::Any | FieldKind::Cause => "unknown",
    }
}
