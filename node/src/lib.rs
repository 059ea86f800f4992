//! The Node face of mcpool, below the TypeScript layer: convert, await, reject.
//! Whatever waits goes through the [`bridge`]; errors cross as the JSON of the core's error and become classes above.

mod bridge;
mod calls;
mod discover;
mod errors;
mod events;
mod external_memory;
mod files;
mod manager;
mod naming;
mod options;
mod pool;
mod post;
mod question;
mod result;
mod text;
mod tool;
mod verbs;
mod waiting;
mod wake;

use mcpool::host::Language;
use mcpool::{Arguments, CallOptions, ClientInfo, ErrorKind, EventKind, ToolResult};
use napi::Env;
use napi::bindgen_prelude::Unknown;
use napi_derive::napi;

use crate::errors::{NativeError, OrThrow};

/// One kind of error, as the core lists it.
#[napi(object)]
pub struct ErrorRow {
    /// The stable code.
    pub code: String,
    /// Whether the same request may succeed later without any change.
    pub retryable: bool,
}

/// Every kind of error.
#[napi]
pub fn error_kinds() -> Vec<ErrorRow> {
    let row = |kind: &ErrorKind| ErrorRow { code: kind.code().into(), retryable: kind.retryable() };
    ErrorKind::ALL.iter().map(row).collect()
}

/// Whether a `NativeError` was thrown, by this copy of the package or by another one in this thread.
#[napi(ts_return_type = "thrown is NativeError")]
pub fn is_native_error(env: Env, thrown: Unknown<'_>) -> bool {
    NativeError::is_thrown(&env, &thrown)
}

/// Throws unless an option of a call has this name.
#[napi]
pub fn check_call_option(env: Env, name: String) -> napi::Result<()> {
    CallOptions::check_name(&name, Language::Node).or_throw(&env)
}

/// The arguments that a model wrote, as the JSON of one object; throws if they are none.
#[napi]
pub fn parse_arguments(env: Env, text: Option<String>) -> napi::Result<String> {
    let arguments = Arguments::from_model(text.as_deref()).or_throw(&env)?;
    Ok(String::from_utf8_lossy(&arguments.into_json()).into_owned())
}

/// Throws unless an option of connecting has this name.
#[napi]
pub fn check_connect_option(env: Env, name: String) -> napi::Result<()> {
    CallOptions::check_connect_name(&name).or_throw(&env)
}

/// Throws unless an event has this type.
#[napi]
pub fn check_event_type(env: Env, name: String) -> napi::Result<()> {
    EventKind::check_type(&name).or_throw(&env)
}

/// Every type of event.
#[napi]
pub fn event_types() -> Vec<&'static str> {
    EventKind::TYPES.to_vec()
}

/// Must be that of the package that loads the addon.
#[napi]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How many places the table of those who wait has at most; the low bits of a key are its place.
#[napi]
pub const PLACES: u32 = 1 << 24;

/// A letter's tag is its key times this, plus its kind.
#[napi]
pub const TAG_KINDS: u32 = 8;

/// The key of the object that stands for a value without JSON in options.
#[napi]
pub const NO_JSON: &str = mcpool::host::NO_JSON;

/// The text of a result, given its JSON.
#[napi]
pub fn render_text(json: String) -> String {
    ToolResult::from_json(json).text()
}

/// JSON of the task of a result that is returned in place of one, given its JSON; null if there is none.
#[napi]
pub fn task_in(json: String) -> String {
    text::to_json(&ToolResult::from_json(json).task())
}

/// JSON of the images of a result, given its JSON.
#[napi]
pub fn images(json: String) -> String {
    text::to_json(&ToolResult::from_json(json).images())
}

/// JSON of those that a model is shown.
#[napi]
pub fn model_images(json: String) -> String {
    text::to_json(&ToolResult::from_json(json).model_images())
}

/// JSON of the words of telemetry that do not depend on a call.
#[napi]
pub fn telemetry_words() -> String {
    mcpool::telemetry_words().to_string()
}

/// JSON of the JSON Schema of a config file.
#[napi]
pub fn schema() -> String {
    mcpool::config::schema().to_string()
}

/// Runs the command line; `itself` is the command that starts this program again. Gives the exit code.
#[napi]
pub fn run_command(words: Vec<String>, itself: Vec<String>) -> i32 {
    mcpool::cli::run(words, itself)
}

/// Says how the command line is started again.
#[napi]
pub fn set_relaunch(words: Vec<String>) {
    mcpool::set_relaunch(words);
}

/// Sets what servers are told about their client; `info` is JSON, and none is our own name.
#[napi]
pub fn set_client_info(env: Env, info: Option<String>) -> napi::Result<()> {
    let info = info.map(|json| ClientInfo::from_json(&json)).transpose().or_throw(&env)?;
    mcpool::set_client_info(info);
    Ok(())
}

/// While the module loads, so that nothing is missed; where nobody asked, logging costs nothing.
#[napi_derive::module_init]
fn log_to_stderr_if_asked() {
    mcpool::host::logs::to_stderr_if_asked();
}
