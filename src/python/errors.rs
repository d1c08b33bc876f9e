//! The one place that makes Python exceptions of the extension's own.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyBaseException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::{table, wire};

/// `PhiloteValidationError`, once Python has handed it over. The lock is never held while Python code runs.
static VALIDATION: Mutex<Option<Py<PyType>>> = Mutex::new(None);

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(use_exceptions, module)?)
}

/// Make the extension raise `validation` where stock raises ``PhiloteValidationError``.
///
/// Parameters
/// ----------
/// validation : type
///     The exception class; until this is called it is ``ValueError``.
///
/// Raises
/// ------
/// TypeError
///     If `validation` is not an exception class.
#[pyfunction]
pub(super) fn use_exceptions(validation: &Bound<'_, PyType>) -> PyResult<()> {
    if !validation.is_subclass_of::<PyBaseException>()? {
        return Err(PyTypeError::new_err(format!(
            "expected an exception class, got {}",
            validation.repr()?
        )));
    }
    let class = validation.clone().unbind();
    let former = VALIDATION
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .replace(class);
    drop(former);
    Ok(())
}

/// A `PhiloteValidationError`.
pub fn validation(py: Python<'_>, message: impl Into<String>) -> PyErr {
    let class = VALIDATION
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .map(|class| class.clone_ref(py));
    match class {
        Some(class) => PyErr::from_type(class.into_bound(py), message.into()),
        None => PyValueError::new_err(message.into()),
    }
}

/// `error` with `cause` as its `__cause__`.
pub(super) fn chained(py: Python<'_>, error: PyErr, cause: PyErr) -> PyErr {
    error.set_cause(py, Some(cause));
    error
}

/// The name of an object's class, for a message.
pub(super) fn class_name(object: &Bound<'_, PyAny>) -> String {
    object
        .get_type()
        .qualname()
        .map_or_else(|_| String::from("?"), |name| name.to_string())
}

impl From<wire::Error> for PyErr {
    fn from(error: wire::Error) -> Self {
        Python::attach(|py| validation(py, error.to_string()))
    }
}

impl From<table::Error> for PyErr {
    fn from(error: table::Error) -> Self {
        Python::attach(|py| validation(py, error.to_string()))
    }
}
