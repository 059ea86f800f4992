//! The Python face: convert, await, raise. The core decides what to do; types, docs and exceptions are in Python.
//! Invariant: threads of the core never touch a Python object; answers are taken from a mailbox on the loop's thread.

use pyo3::prelude::*;

mod blocking;
mod bridge;
mod calls;
mod discover;
mod errors;
mod events;
mod files;
mod greenlets;
mod json;
mod loaded;
mod logs;
mod manager;
mod names;
mod naming;
mod options;
mod pool;
mod question;
mod result;
mod standing;
mod telemetry;
mod tool;
mod verbs;
mod waiting;

/// Runs the command line; `restart` is the command that starts it again.
#[pyfunction]
fn run_cli(py: Python<'_>, args: Vec<std::ffi::OsString>, restart: Vec<String>) -> i32 {
    py.detach(|| mcpool::cli::run_os(args, restart))
}

/// Says how the command line is started again.
#[pyfunction]
fn set_relaunch(words: Vec<String>) {
    mcpool::set_relaunch(words);
}

/// Code, whether retryable, and meaning of every kind of error.
#[pyfunction]
fn error_kinds() -> Vec<(&'static str, bool, &'static str)> {
    mcpool::ErrorKind::ALL
        .iter()
        .map(|kind| (kind.code(), kind.retryable(), kind.about()))
        .collect()
}

/// Every type of event.
#[pyfunction]
fn event_types() -> Vec<&'static str> {
    mcpool::EventKind::TYPES.to_vec()
}

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<bridge::Bridge>()?;
    module.add_class::<greenlets::WakeBox>()?;
    module.add_class::<logs::LogReader>()?;
    module.add_class::<manager::NativeManager>()?;
    module.add_class::<events::NativeEvents>()?;
    module.add_class::<discover::NativeFound>()?;
    module.add_class::<question::NativeQuestion>()?;
    module.add_class::<pool::Pool>()?;
    module.add_class::<result::ToolResult>()?;
    module.add_class::<tool::Tool>()?;
    module.add_function(wrap_pyfunction!(result::restore_result, module)?)?;
    module.add_function(wrap_pyfunction!(tool::restore_tool, module)?)?;
    module.add_function(wrap_pyfunction!(tool::similar_name, module)?)?;
    module.add_function(wrap_pyfunction!(run_cli, module)?)?;
    module.add_function(wrap_pyfunction!(set_relaunch, module)?)?;
    module.add_function(wrap_pyfunction!(pool::set_client_info, module)?)?;
    module.add_function(wrap_pyfunction!(error_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(telemetry::telemetry_words, module)?)?;
    module.add_function(wrap_pyfunction!(event_types, module)?)?;
    module.add_function(wrap_pyfunction!(calls::call, module)?)?;
    module.add_function(wrap_pyfunction!(calls::call_for, module)?)?;
    module.add_function(wrap_pyfunction!(calls::parse_arguments, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::connect_all, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::connect, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::wait_for, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::reload, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::authorize, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::complete_auth, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::forget_auth, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::request, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::accept_drift, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::disconnect, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::disconnect_all, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::close, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::events_ready, module)?)?;
    module.add_function(wrap_pyfunction!(discover::discover, module)?)?;
    module.add_function(wrap_pyfunction!(discover::discover_manager, module)?)?;
    module.add_function(wrap_pyfunction!(discover::block_discover, module)?)?;
    module.add_function(wrap_pyfunction!(discover::block_discover_manager, module)?)?;
    module.add_function(wrap_pyfunction!(files::edit, module)?)?;
    module.add_function(wrap_pyfunction!(files::block_edit, module)?)?;
    module.add_function(wrap_pyfunction!(files::schema, module)?)?;
    module.add_function(wrap_pyfunction!(files::trust, module)?)?;
    module.add_function(wrap_pyfunction!(files::block_trust, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_connect_all, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_connect, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_wait_for, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_call, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_call_for, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_reload, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_authorize, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_complete_auth, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_forget_auth, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_request, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_accept_drift, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_disconnect, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_disconnect_all, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_close, module)?)?;
    module.add_function(wrap_pyfunction!(blocking::verbs::block_events_ready, module)?)?;
    Ok(())
}
