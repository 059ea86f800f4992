//! Owns JSON in both directions: Python objects straight from bytes, and bytes straight from Python objects.

use std::collections::BTreeMap;

use jiter::{PythonParse, StringCacheMode};
use mcpool::host::NO_JSON;
use mcpool::{Error, ErrorKind, Executed};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    IntoPyDict, PyBool, PyCFunction, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple,
};
use serde::Serialize;

use crate::errors::OrRaise;
use crate::names::with_article;

const DEPTH_LIMIT: usize = 128;

/// Parses JSON text.
pub(crate) fn parse<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let parser = PythonParse { cache_mode: StringCacheMode::Keys, ..PythonParse::default() };
    match parser.python_parse(py, text.as_bytes()) {
        Ok(value) => Ok(value),
        // The fast parser refuses lone surrogates and deep nesting, which Python's own accepts.
        Err(_) => {
            static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let loads = LOADS.import(py, "json", "loads")?;
            loads.call1((text,)).or_else(|_| {
                let whole = PyCFunction::new_closure(py, None, None, whole_number)?;
                loads.call((text,), Some(&[("parse_int", whole)].into_py_dict(py)?))
            })
        }
    }
}

/// A number that is too long for a Python integer is read as a float.
fn whole_number(given: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>) -> PyResult<Py<PyAny>> {
    let (py, digits) = (given.py(), given.get_item(0)?);
    let whole = py.get_type::<PyInt>().call1((&digits,));
    whole.or_else(|_| py.get_type::<PyFloat>().call1((&digits,))).map(Bound::unbind)
}

/// The Python objects of anything that serialises.
pub(crate) fn from_serialize<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    parse(py, &text)
}

/// The JSON of one of the core's own types, all of which have one.
pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Compact JSON of a Python object made of plain JSON types; anything else is an error of `kind`.
pub(crate) fn write(value: &Bound<'_, PyAny>, kind: ErrorKind) -> PyResult<Vec<u8>> {
    let mut writer = Writer::new(false);
    let written = writer.value(value, 0);
    or_refused(value.py(), written, |why| refused(kind, why))?;
    Ok(writer.out)
}

/// The same for the value of an option; the error names the option.
pub(crate) fn write_option(
    name: &str,
    value: &Bound<'_, PyAny>,
    kind: ErrorKind,
) -> PyResult<Vec<u8>> {
    let mut writer = Writer::new(false);
    let written = writer.option(value);
    or_refused(value.py(), written, |why| refused(kind, unusable(name, &why)))?;
    Ok(writer.out)
}

/// JSON text of options, in which a path is its text.
pub(crate) fn write_options(options: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut writer = Writer::new(true);
    writer.out.push(b'{');
    for (at, (name, value)) in options.iter().enumerate() {
        let written = writer.key(at, &name).and_then(|()| writer.option(&value));
        let unusable = |why: String| unusable(&name.to_string(), &why);
        or_refused(options.py(), written, |why| refused(ErrorKind::ConfigInvalid, unusable(why)))?;
    }
    writer.out.push(b'}');
    Ok(String::from_utf8_lossy(&writer.out).into_owned())
}

fn unusable(name: &str, why: &str) -> String {
    format!("The option \"{name}\" cannot be used. {why}")
}

fn or_refused(
    py: Python<'_>,
    written: Result<(), Refused>,
    refused: impl FnOnce(String) -> Error,
) -> PyResult<()> {
    let why = match written {
        Ok(()) => return Ok(()),
        Err(Refused::Because(why)) => why,
        Err(Refused::Raised(error)) if !error.is_instance_of::<PyException>(py) => {
            return Err(error);
        }
        Err(Refused::Raised(error)) => {
            format!("A value cannot become JSON: {}", error.value(py))
        }
    };
    Err(refused(why)).or_raise(py)
}

/// If the arguments cannot be sent, the tool did not run.
fn refused(kind: ErrorKind, why: String) -> Error {
    let error = Error::new(kind, why);
    match kind {
        ErrorKind::InvalidArguments => error.with_executed(Executed::No),
        _ => error,
    }
}

enum Refused {
    Because(String),
    Raised(PyErr),
}

impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Self {
        Refused::Raised(error)
    }
}

struct Writer {
    out: Vec<u8>,
    /// Whether an `os.PathLike` is written as its path.
    takes_paths: bool,
}

impl Writer {
    fn new(takes_paths: bool) -> Writer {
        Writer { out: Vec::with_capacity(128), takes_paths }
    }

    fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Refused> {
        if depth > DEPTH_LIMIT {
            return refuse(value, &format!("it is nested deeper than {DEPTH_LIMIT}"));
        }
        if let Ok(text) = value.cast::<PyString>() {
            self.string(text)
        } else if let Ok(entries) = value.cast::<PyDict>() {
            self.entries(entries, depth)
        } else if value.is_none() {
            self.out.extend_from_slice(b"null");
            Ok(())
        } else if let Ok(truth) = value.cast::<PyBool>() {
            self.out.extend_from_slice(if truth.is_true() { b"true" } else { b"false" });
            Ok(())
        } else if value.cast::<PyInt>().is_ok() {
            match value.extract::<i64>() {
                Ok(number) => self.push(&number),
                Err(_) => {
                    let number = value.call_method0("__int__")?;
                    if !number.is_exact_instance_of::<PyInt>() {
                        return refuse(value, "it is not a number");
                    }
                    self.out.extend_from_slice(number.str()?.to_str()?.as_bytes());
                }
            }
            Ok(())
        } else if let Ok(number) = value.cast::<PyFloat>() {
            if !number.value().is_finite() {
                return refuse(value, "it is not a finite number");
            }
            self.push(&number.value());
            Ok(())
        } else if let Ok(items) = value.cast::<PyList>() {
            self.items(items.iter(), depth)
        } else if let Ok(items) = value.cast::<PyTuple>() {
            self.items(items.iter(), depth)
        } else if let Ok(mapping) = value.cast::<PyMapping>() {
            let entries = PyDict::new(value.py());
            entries.update(mapping)?;
            self.entries(&entries, depth)
        } else if self.takes_paths && value.hasattr("__fspath__")? {
            self.value(&value.call_method0("__fspath__")?, depth + 1)
        } else {
            refuse(value, "JSON has no such type")
        }
    }

    fn entries(&mut self, entries: &Bound<'_, PyDict>, depth: usize) -> Result<(), Refused> {
        self.out.push(b'{');
        // A copy: code of the values, or a thread of a free-threaded interpreter, may change the dict meanwhile.
        for (at, (key, value)) in entries.copy()?.iter().enumerate() {
            self.entry(at, &key, &value, depth)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn entry(
        &mut self,
        at: usize,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        depth: usize,
    ) -> Result<(), Refused> {
        self.key(at, key)?;
        self.value(value, depth + 1)
    }

    fn key(&mut self, at: usize, key: &Bound<'_, PyAny>) -> Result<(), Refused> {
        if at > 0 {
            self.out.push(b',');
        }
        match key.cast::<PyString>() {
            Ok(key) => self.string(key)?,
            Err(_) => return refuse(key, "keys must be strings"),
        }
        self.out.push(b':');
        Ok(())
    }

    /// The value of an option. The core knows what it must be, so a value without JSON is written as what it is.
    fn option(&mut self, value: &Bound<'_, PyAny>) -> Result<(), Refused> {
        let start = self.out.len();
        let written = self.value(value, 1);
        let Err(Refused::Because(_)) = &written else { return written };
        let has_parts = value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyList>()
            || value.is_instance_of::<PyTuple>()
            || value.cast::<PyMapping>().is_ok();
        if has_parts {
            return written;
        }
        let kind = match value.cast::<PyFloat>() {
            Ok(number) => number.to_string(),
            Err(_) => with_article(&value.get_type().name()?.to_string()),
        };
        self.out.truncate(start);
        self.push(&BTreeMap::from([(NO_JSON, kind)]));
        Ok(())
    }

    fn items<'py>(
        &mut self,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        depth: usize,
    ) -> Result<(), Refused> {
        self.out.push(b'[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.value(&item, depth + 1)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn string(&mut self, text: &Bound<'_, PyString>) -> Result<(), Refused> {
        match text.to_str() {
            Ok(text) => self.push(&text),
            Err(_) => return refuse(text, "it holds half of a surrogate pair"),
        }
        Ok(())
    }

    fn push(&mut self, value: &impl Serialize) {
        // Strings and finite numbers always serialise, and a Vec takes every write.
        let _ = serde_json::to_writer(&mut self.out, value);
    }
}

fn refuse<T>(value: &Bound<'_, PyAny>, why: &str) -> Result<T, Refused> {
    let kind = value.get_type().name()?;
    Err(Refused::Because(format!("A value of type {kind} cannot become JSON: {why}")))
}
