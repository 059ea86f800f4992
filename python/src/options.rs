//! Owns reading a manager's options. The core reads them as JSON; functions and pools are taken out before and set
//! afterwards.

use std::collections::HashMap;

use mcpool::host::{Language, OptionInfo, OptionKind, suggest_option};
use mcpool::{Config, DiscoverOptions, ErrorKind, ManagerOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::OrRaise;
use crate::json;
use crate::naming;
use crate::pool::Pool;
use crate::question::Asking;

pub(crate) fn read_config(config: &Bound<'_, PyAny>) -> PyResult<Config> {
    // A path is refused by the core, which says how files are opened.
    let config = match config.hasattr("__fspath__")? {
        true => &config.call_method0("__fspath__")?,
        false => config,
    };
    let config_json = match config.cast::<PyString>() {
        Ok(text) => text.to_str()?.to_owned(),
        Err(_) => json_text(config)?,
    };
    Config::from_json(&config_json).or_raise(config.py())
}

/// The options of a manager and its callbacks; `read` is the core's reader for this kind of manager.
pub(crate) fn read_options(
    options: &Bound<'_, PyDict>,
    read: fn(&str, Language) -> mcpool::Result<ManagerOptions>,
) -> PyResult<(ManagerOptions, Option<Asking>)> {
    let beyond_json = BeyondJson::take_from(options)?;
    let read = read(&json::write_options(options)?, Language::Python).or_raise(options.py())?;
    Ok(beyond_json.complete(read))
}

/// Same, for a manager created by discovery.
pub(crate) fn read_discovery(
    options: &Bound<'_, PyDict>,
) -> PyResult<(DiscoverOptions, ManagerOptions, Option<Asking>)> {
    let beyond_json = BeyondJson::take_from(options)?;
    let read = ManagerOptions::for_discovery(&json::write_options(options)?, Language::Python);
    let (discover, read) = read.or_raise(options.py())?;
    let (read, asking) = beyond_json.complete(read);
    Ok((discover, read, asking))
}

/// The values that JSON cannot represent.
#[derive(Default)]
struct BeyondJson {
    /// By the names of their options.
    functions: HashMap<&'static str, Py<PyAny>>,
    pool: Option<mcpool::Pool>,
}

impl BeyondJson {
    /// Takes functions and the pool out of the options; the core refuses anything else.
    fn take_from(options: &Bound<'_, PyDict>) -> PyResult<BeyondJson> {
        let mut taken = BeyondJson::default();
        for option in ManagerOptions::OPTIONS {
            let Some(value) = options.get_item(option.name)? else { continue };
            let kind = (option.kind)();
            if kind.takes_function() && value.is_callable() {
                taken.functions.insert(option.name, value.unbind());
            } else if let (OptionKind::Pool, Ok(pool)) = (kind, value.cast::<Pool>()) {
                taken.pool = Some(pool.get().0.clone());
            } else {
                continue;
            }
            options.del_item(option.name)?;
        }
        Ok(taken)
    }

    fn complete(mut self, mut options: ManagerOptions) -> (ManagerOptions, Option<Asking>) {
        if let Some(function) = self.functions.remove("naming") {
            options = options.naming(naming::by_function(function));
        }
        let functions = self.functions.into_iter();
        let functions = functions.filter_map(|(option, function)| {
            Some((ManagerOptions::question_kind(option)?, function))
        });
        let functions: Vec<_> = functions.collect();
        let (options, questions) =
            options.answered_by_host(functions.iter().map(|(kind, _)| *kind));
        let asking = Asking { questions, functions, watches: false };
        (options.pool(self.pool), (!asking.functions.is_empty()).then_some(asking))
    }
}

/// The declaration of a keyword; a name that is not known is a `TypeError`, as for any function.
pub(crate) fn find_option(
    name: &Bound<'_, PyAny>,
    mut known: impl Iterator<Item = &'static OptionInfo> + Clone,
) -> PyResult<&'static OptionInfo> {
    let (name, all) = (name.cast::<PyString>()?.to_str()?, known.clone());
    known.find(|option| option.name == name).ok_or_else(|| {
        let hint = suggest_option(name, all, Language::Python);
        PyTypeError::new_err(format!("got an unexpected keyword argument '{name}'; {hint}"))
    })
}

/// Refuses names that the table does not have.
pub(crate) fn check_keywords(
    options: &Bound<'_, PyDict>,
    table: &'static [OptionInfo],
) -> PyResult<()> {
    options.keys().iter().try_for_each(|name| find_option(&name, table.iter()).map(drop))
}

/// JSON of a config; a value without JSON is not usable.
pub(crate) fn json_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let written = json::write(value, ErrorKind::ConfigInvalid)?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}
