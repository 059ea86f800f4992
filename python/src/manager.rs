//! Owns the handle on a core manager, with the verbs that never wait.

use std::sync::{Arc, Mutex};

use mcpool::{Catalog, Config, ErrorKind, Events, Manager, ManagerOptions, Naming};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::errors::OrRaise;
use crate::json;
use crate::tool::Tool;

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeManager {
    pub(crate) core: Manager,
    /// The list made last, while its catalog is current.
    tools: Mutex<Option<(Arc<Catalog>, Py<PyList>)>>,
}

#[pymethods]
impl NativeManager {
    #[new]
    fn new(
        py: Python<'_>,
        config: &Bound<'_, PyAny>,
        naming: Option<Bound<'_, PyAny>>,
        connect_concurrency: Option<usize>,
    ) -> PyResult<Self> {
        crate::logs::follow(py)?;
        let config = match config.cast::<PyString>() {
            Ok(text) => text.to_str()?.as_bytes().to_vec(),
            Err(_) => json::write(config, ErrorKind::ConfigInvalid)?,
        };
        let config = Config::from_json(&String::from_utf8_lossy(&config)).or_raise(py)?;
        let naming = naming.map_or(Ok(Naming::default()), read_naming)?;
        let core = Manager::new(config, ManagerOptions { naming, connect_concurrency });
        Ok(NativeManager { core, tools: Mutex::default() })
    }

    fn get_tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let catalog = self.core.get_tools();
        let cached = self
            .tools
            .lock()
            .expect("nothing panics while it is held")
            .as_ref()
            .and_then(|(of, list)| Arc::ptr_eq(of, &catalog).then(|| list.clone_ref(py)));
        let list = match cached {
            Some(list) => list.into_bound(py),
            None => {
                let list = PyList::new(py, catalog.tools().iter().cloned().map(Tool))?;
                let remembered = Some((catalog, list.clone().unbind()));
                *self.tools.lock().expect("nothing panics while it is held") = remembered;
                list
            }
        };
        // The caller's own list: changing it changes nobody else's.
        list.get_slice(0, list.len()).into_any().cast_into().map_err(Into::into)
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::from_serialize(py, &self.core.status())
    }

    fn warnings(&self) -> Vec<String> {
        self.core.warnings().to_vec()
    }

    fn events(&self) -> NativeEvents {
        NativeEvents(Arc::new(self.core.events()))
    }
}

fn read_naming(naming: Bound<'_, PyAny>) -> PyResult<Naming> {
    if naming.is_callable() {
        let function = naming.unbind();
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

#[pyclass(frozen, module = "mcpool._native")]
pub(crate) struct NativeEvents(pub(crate) Arc<Events>);

#[pymethods]
impl NativeEvents {
    /// How many events this reader was too slow for.
    fn lost(&self) -> u64 {
        self.0.lost()
    }
}
