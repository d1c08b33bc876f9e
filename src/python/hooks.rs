//! Whether what stock would call is still what was found before: asked at each call of an RPC, on both sides.

use std::sync::Mutex;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};

/// Names, each with the namespace that it is looked up in, and what is expected there.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct Places {
    names: Vec<(Py<PyDict>, Py<PyString>)>,
    stock: Vec<Py<PyAny>>,
    /// By the ``id`` of each.
    replacements: Py<PyDict>,
    /// What was found last and was right. To compare with that takes a tenth of the time.
    accepted: Mutex<Vec<Py<PyAny>>>,
}

#[pymethods]
impl Places {
    #[new]
    fn new(
        py: Python<'_>,
        places: Vec<(Py<PyDict>, Py<PyString>)>,
        stock: Vec<Py<PyAny>>,
        replacements: Py<PyDict>,
    ) -> PyResult<Self> {
        if places.len() != stock.len() {
            return Err(PyValueError::new_err("one object for each place"));
        }
        let accepted = Mutex::new(stock.iter().map(|one| one.clone_ref(py)).collect());
        Ok(Self {
            names: places,
            stock,
            replacements,
            accepted,
        })
    }

    /// Whether each place holds what stock has there, or one of our replacements.
    fn untouched(&self, py: Python<'_>) -> PyResult<bool> {
        // Never waited for: whoever has it may wait for the GIL.
        if let Ok(accepted) = self.accepted.try_lock()
            && self.hold(py, &accepted)?
        {
            return Ok(true);
        }
        let mut found = Vec::new();
        for ((namespace, name), stock) in self.names.iter().zip(&self.stock) {
            match namespace.bind(py).get_item(name)? {
                Some(now) if now.is(stock) || self.is_ours(&now)? => found.push(now.unbind()),
                _ => return Ok(false),
            }
        }
        if let Ok(mut accepted) = self.accepted.try_lock() {
            std::mem::swap(&mut *accepted, &mut found);
        }
        Ok(true)
    }
}

impl Places {
    fn hold(&self, py: Python<'_>, expected: &[Py<PyAny>]) -> PyResult<bool> {
        for ((namespace, name), expected) in self.names.iter().zip(expected) {
            match namespace.bind(py).get_item(name)? {
                Some(found) if found.is(expected) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn is_ours(&self, found: &Bound<'_, PyAny>) -> PyResult<bool> {
        let replacements = self.replacements.bind(found.py());
        replacements.contains(found.as_ptr().addr())
    }
}

/// Whether each named method of an instance is one that ``known`` has under the same name, by its ``id``.
///
/// Neither the instance nor its class may answer for attributes in a way of its own.
#[pyfunction]
#[pyo3(signature = (known, instance, *names))]
pub fn untouched(
    known: &Bound<'_, PyDict>,
    instance: &Bound<'_, PyAny>,
    names: &Bound<'_, PyTuple>,
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
