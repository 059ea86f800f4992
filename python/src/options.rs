//! Owns reading what a manager is made of: its config, and options that the core reads as JSON.

use std::sync::Arc;

use mcpool::{Config, ErrorKind, ManagerOptions, Naming, OnApproval, Questions};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::OrRaise;
use crate::json;
use crate::pool::Pool;
use crate::question::Asking;

pub(crate) fn read_config(config: &Bound<'_, PyAny>) -> PyResult<Config> {
    let config_json = match config.cast::<PyString>() {
        Ok(text) => text.to_str()?.to_owned(),
        Err(_) => json_text(config)?,
    };
    Config::from_json(&config_json).or_raise(config.py())
}

/// `options` is a dict of all that JSON can say, and of the function `on_approval`; `trust` is a policy, which JSON can
/// say too, or a function.
pub(crate) fn read_options(
    naming: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    pool: Option<&Bound<'_, Pool>>,
    trust: Option<&Bound<'_, PyAny>>,
) -> PyResult<(ManagerOptions, Option<Asking>)> {
    let py = options.py();
    let callable = trust.filter(|trust| trust.is_callable());
    let asks_trust = callable.map(|trust| (Questions::default(), trust.clone().unbind()));
    if asks_trust.is_none() {
        options.set_item("trust", trust)?;
    }
    let approval = read_function(options, "on_approval")?;
    let mut read = ManagerOptions::from_json(&json_text(options)?).or_raise(py)?;
    if let Some((questions, _)) = &asks_trust {
        read.trust = questions.trust();
    }
    read.on_approval = approval.as_ref().map(|_| OnApproval::of_caller());
    let pool = pool.map(|pool| pool.get().0.clone());
    let asks = asks_trust.is_some() || approval.is_some();
    let asking = asks.then_some(Asking { trust: asks_trust, approval, watches: false });
    Ok((ManagerOptions { naming: read_naming(naming)?, pool, ..read }, asking))
}

/// Takes a function out of the options; what is none stays there for the core to refuse.
fn read_function(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let function = options.get_item(name)?;
    if function.as_ref().is_some_and(|function| function.is_callable() || function.is_none()) {
        options.del_item(name)?;
    }
    Ok(function.filter(|function| function.is_callable()).map(Bound::unbind))
}

/// JSON of an object that an option or a config is; what cannot become JSON is not usable as one.
pub(crate) fn json_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let written = json::write(value, ErrorKind::ConfigInvalid)?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

fn read_naming(naming: &Bound<'_, PyAny>) -> PyResult<Naming> {
    if naming.is_callable() {
        let function = naming.clone().unbind();
        return Ok(Naming::Function(Arc::new(move |server, tool| {
            Python::attach(|py| {
                // A function that fails must not cost the tool.
                function.call1(py, (server, tool)).and_then(|name| name.extract(py)).ok()
            })
        })));
    }
    let style: String = naming.extract()?;
    Naming::from_style(&style).or_raise(naming.py())
}
