//! Whether what stock would call is still what was found before: asked at each call of an RPC, on both sides.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

/// Names, each with the namespace that it is looked up in.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct Places {
    places: Vec<(Py<PyDict>, Py<PyString>)>,
}

#[pymethods]
impl Places {
    #[new]
    fn new(places: Vec<(Py<PyDict>, Py<PyString>)>) -> Self {
        Self { places }
    }

    /// Whether each place holds the very object at its place in ``expected``.
    fn hold(&self, expected: &Bound<'_, PyList>) -> PyResult<bool> {
        let py = expected.py();
        if expected.len() != self.places.len() {
            return Ok(false);
        }
        for ((namespace, name), expected) in self.places.iter().zip(expected) {
            match namespace.bind(py).get_item(name)? {
                Some(found) if found.is(&expected) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Whether each named method of an instance is one that ``known`` has under the same name, by its ``id``.
///
/// Neither the instance nor its class may answer for attributes in a way of its own.
#[pyfunction]
pub fn untouched(
    instance: &Bound<'_, PyAny>,
    names: &Bound<'_, PyTuple>,
    known: &Bound<'_, PyDict>,
) -> PyResult<bool> {
    let py = instance.py();
    let class = instance.get_type();
    let lookup = class.getattr(intern!(py, "__getattribute__"))?;
    if !lookup.is(plain_lookup(py)?) {
        return Ok(false);
    }
    let own = instance.getattr(intern!(py, "__dict__"))?;
    let own = own.cast::<PyDict>()?;
    for name in names {
        let name = name.cast::<PyString>()?;
        if own.contains(name)? || !is_known(class.getattr_opt(name)?, name, known)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_known(
    method: Option<Bound<'_, PyAny>>,
    name: &Bound<'_, PyString>,
    known: &Bound<'_, PyDict>,
) -> PyResult<bool> {
    let Some(method) = method else {
        return Ok(false);
    };
    match known.get_item(method.as_ptr().addr())? {
        Some(found) => found.eq(name),
        None => Ok(false),
    }
}

/// `object.__getattribute__`.
fn plain_lookup(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static LOOKUP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || {
        let object = py.get_type::<PyAny>();
        Ok::<_, PyErr>(object.getattr(intern!(py, "__getattribute__"))?.unbind())
    };
    Ok(LOOKUP.get_or_try_init(py, make)?.bind(py))
}
