//! Owns JSON in both directions: Python objects straight from bytes, and bytes straight from Python objects.

use jiter::{PythonParse, StringCacheMode};
use mcpool::{Error, ErrorKind, Executed};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    IntoPyDict, PyBool, PyCFunction, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple,
};
use serde::Serialize;

use crate::errors::OrRaise;

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

/// Compact JSON of a Python object made of plain JSON types; anything else is an error of `kind`.
pub(crate) fn write(value: &Bound<'_, PyAny>, kind: ErrorKind) -> PyResult<Vec<u8>> {
    let mut out = Vec::with_capacity(128);
    match write_value(value, &mut out, 0) {
        Ok(()) => Ok(out),
        Err(Refused::Because(why)) => Err(refused(kind, why)).or_raise(value.py()),
        Err(Refused::Raised(error)) if !error.is_instance_of::<PyException>(value.py()) => {
            Err(error)
        }
        Err(Refused::Raised(error)) => {
            let why = format!("A value cannot become JSON: {}", error.value(value.py()));
            Err(refused(kind, why)).or_raise(value.py())
        }
    }
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

fn write_value(value: &Bound<'_, PyAny>, out: &mut Vec<u8>, depth: usize) -> Result<(), Refused> {
    if depth > DEPTH_LIMIT {
        return refuse(value, &format!("it is nested deeper than {DEPTH_LIMIT}"));
    }
    if let Ok(text) = value.cast::<PyString>() {
        write_string(text, out)
    } else if let Ok(entries) = value.cast::<PyDict>() {
        write_entries(entries, out, depth)
    } else if value.is_none() {
        out.extend_from_slice(b"null");
        Ok(())
    } else if let Ok(truth) = value.cast::<PyBool>() {
        out.extend_from_slice(if truth.is_true() { b"true" } else { b"false" });
        Ok(())
    } else if value.cast::<PyInt>().is_ok() {
        match value.extract::<i64>() {
            Ok(number) => push(out, &number),
            Err(_) => {
                let digits = value.call_method0("__int__")?.str()?;
                out.extend_from_slice(digits.to_str()?.as_bytes());
            }
        }
        Ok(())
    } else if let Ok(number) = value.cast::<PyFloat>() {
        if !number.value().is_finite() {
            return refuse(value, "it is not a finite number");
        }
        push(out, &number.value());
        Ok(())
    } else if let Ok(items) = value.cast::<PyList>() {
        write_items(items.iter(), out, depth)
    } else if let Ok(items) = value.cast::<PyTuple>() {
        write_items(items.iter(), out, depth)
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        let entries = PyDict::new(value.py());
        entries.update(mapping)?;
        write_entries(&entries, out, depth)
    } else {
        refuse(value, "JSON has no such type")
    }
}

fn write_entries(
    entries: &Bound<'_, PyDict>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Refused> {
    out.push(b'{');
    for (at, (key, entry)) in entries.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match key.cast::<PyString>() {
            Ok(key) => write_string(key, out)?,
            Err(_) => return refuse(&key, "keys must be strings"),
        }
        out.push(b':');
        write_value(&entry, out, depth + 1)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_items<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), Refused> {
    out.push(b'[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_value(&item, out, depth + 1)?;
    }
    out.push(b']');
    Ok(())
}

fn write_string(text: &Bound<'_, PyString>, out: &mut Vec<u8>) -> Result<(), Refused> {
    match text.to_str() {
        Ok(text) => push(out, &text),
        Err(_) => return refuse(text, "it holds half of a surrogate pair"),
    }
    Ok(())
}

fn push(out: &mut Vec<u8>, value: &impl Serialize) {
    // Strings and finite numbers always serialise, and a Vec takes every write.
    let _ = serde_json::to_writer(out, value);
}

fn refuse<T>(value: &Bound<'_, PyAny>, why: &str) -> Result<T, Refused> {
    let kind = value.get_type().name()?;
    Err(Refused::Because(format!("A value of type {kind} cannot become JSON: {why}")))
}
