//! Owns reading a manager's options. The core reads them as JSON; functions and pools are taken out before and set
//! afterwards.

use std::sync::Arc;

use mcpool::host::{Language, Questions};
use mcpool::{Config, DiscoverOptions, ErrorKind, ManagerOptions, Naming, OnApproval};
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

/// The options of a manager and its callbacks; `read` is the core's reader for this kind of manager.
pub(crate) fn read_options(
    options: &Bound<'_, PyDict>,
    read: fn(&str, Language) -> mcpool::Result<ManagerOptions>,
) -> PyResult<(ManagerOptions, Option<Asking>)> {
    let taken = Taken::from(options)?;
    let read = read(&json_text(options)?, Language::Python).or_raise(options.py())?;
    Ok(taken.put_into(read))
}

/// Same, for a manager created by discovery.
pub(crate) fn read_discovery(
    options: &Bound<'_, PyDict>,
) -> PyResult<(DiscoverOptions, ManagerOptions, Option<Asking>)> {
    let taken = Taken::from(options)?;
    let read = ManagerOptions::for_discovery(&json_text(options)?, Language::Python);
    let (discover, read) = read.or_raise(options.py())?;
    let (read, asking) = taken.put_into(read);
    Ok((discover, read, asking))
}

/// The values that JSON cannot represent.
struct Taken {
    naming: Option<Naming>,
    trust: Option<(Questions, Py<PyAny>)>,
    approval: Option<Py<PyAny>>,
    pool: Option<mcpool::Pool>,
}

impl Taken {
    /// Takes functions and the pool out of the options; the core refuses anything else.
    fn from(options: &Bound<'_, PyDict>) -> PyResult<Taken> {
        let function = |name| take(options, name, |value| value.is_callable());
        let pool = take(options, "pool", |value| value.is_instance_of::<Pool>())?;
        Ok(Taken {
            naming: function("naming")?.map(|function| naming_by(function.unbind())),
            trust: function("trust")?.map(|function| (Questions::default(), function.unbind())),
            approval: function("on_approval")?.map(Bound::unbind),
            pool: match pool {
                Some(pool) => Some(pool.cast::<Pool>()?.get().0.clone()),
                None => None,
            },
        })
    }

    fn put_into(self, mut options: ManagerOptions) -> (ManagerOptions, Option<Asking>) {
        if let Some(naming) = self.naming {
            options = options.naming(naming);
        }
        if let Some((questions, _)) = &self.trust {
            options = options.trust(questions.trust());
        }
        let on_approval = self.approval.as_ref().map(|_| OnApproval::of_caller());
        let asks = self.trust.is_some() || self.approval.is_some();
        let asking =
            asks.then_some(Asking { trust: self.trust, approval: self.approval, watches: false });
        (options.on_approval(on_approval).pool(self.pool), asking)
    }
}

/// Takes a value out of the options if it has the expected type.
fn take<'py>(
    options: &Bound<'py, PyDict>,
    name: &str,
    is_meant: impl Fn(&Bound<'py, PyAny>) -> bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let value = options.get_item(name)?.filter(is_meant);
    if value.is_some() {
        options.del_item(name)?;
    }
    Ok(value)
}

/// JSON of an option or a config; a value without JSON is not usable.
pub(crate) fn json_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let written = json::write(value, ErrorKind::ConfigInvalid)?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

fn naming_by(function: Py<PyAny>) -> Naming {
    Naming::Function(Arc::new(move |server, tool| {
        Python::attach(|py| {
            // A failing function must not lose the tool.
            function.call1(py, (server, tool)).and_then(|name| name.extract(py)).ok()
        })
    }))
}
