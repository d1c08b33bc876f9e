//! The one place that makes Python exceptions of the extension's own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyBaseException, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::{table, wire};

/// A class that Python hands over. The lock is never held while Python code runs.
type Class = Mutex<Option<Py<PyType>>>;

/// `PhiloteValidationError`.
static VALIDATION: Class = Mutex::new(None);

/// `MalformedMessageError`.
static MALFORMED: Class = Mutex::new(None);

/// `WrongDtypeError`.
static WRONG_DTYPE: Class = Mutex::new(None);

/// Makes the exception of a native call that has failed.
static OF_CALL: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(use_exceptions, module)?)?;
    module.add_function(wrap_pyfunction!(use_call_error, module)?)
}

/// Make the extension raise these classes; until this is called it raises ``ValueError``.
///
/// Parameters
/// ----------
/// validation : type
///     Raised where stock raises ``PhiloteValidationError``.
/// malformed : type
///     Raised for received bytes that are no message.
/// wrong_dtype : type
///     Raised for values that are no real numbers.
///
/// Raises
/// ------
/// TypeError
///     If one of them is not an exception class.
#[pyfunction]
pub(super) fn use_exceptions(
    validation: &Bound<'_, PyType>,
    malformed: &Bound<'_, PyType>,
    wrong_dtype: &Bound<'_, PyType>,
) -> PyResult<()> {
    for class in [validation, malformed, wrong_dtype] {
        if !class.is_subclass_of::<PyBaseException>()? {
            let text = format!("expected an exception class, got {}", class.repr()?);
            return Err(PyTypeError::new_err(text));
        }
    }
    for (cell, class) in [
        (&VALIDATION, validation),
        (&MALFORMED, malformed),
        (&WRONG_DTYPE, wrong_dtype),
    ] {
        let former = lock(cell).replace(class.clone().unbind());
        drop(former);
    }
    Ok(())
}

/// Make the extension raise what `make` returns for a native call that has failed.
///
/// Parameters
/// ----------
/// make : callable
///     Takes the call and returns an exception: a ``grpc.RpcError``.
#[pyfunction]
pub(super) fn use_call_error(make: Bound<'_, PyAny>) {
    let former = lock(&OF_CALL).replace(make.unbind());
    drop(former);
}

/// The exception for a native call that has ended with another status than OK, or was cancelled.
pub(super) fn ended(call: &Bound<'_, PyAny>) -> PyErr {
    let py = call.py();
    let make = lock(&OF_CALL).as_ref().map(|make| make.clone_ref(py));
    match make.map(|make| make.bind(py).call1((call,))) {
        Some(Ok(error)) => PyErr::from_value(error),
        Some(Err(error)) => error,
        None => PyRuntimeError::new_err("the call has failed"),
    }
}

fn lock<T>(cell: &Mutex<T>) -> MutexGuard<'_, T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

fn raise(py: Python<'_>, cell: &Class, message: String) -> PyErr {
    let class = lock(cell).as_ref().map(|class| class.clone_ref(py));
    match class {
        Some(class) => PyErr::from_type(class.into_bound(py), message),
        None => PyValueError::new_err(message),
    }
}

/// A `PhiloteValidationError`.
pub fn validation(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, &VALIDATION, message.into())
}

/// A `WrongDtypeError`, which is a `TypeError`.
pub(super) fn wrong_dtype(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, &WRONG_DTYPE, message.into())
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
        Python::attach(|py| {
            if error.is_malformed() {
                raise(
                    py,
                    &MALFORMED,
                    format!("malformed VariableMessage: {error}"),
                )
            } else {
                validation(py, error.to_string())
            }
        })
    }
}

impl From<table::Error> for PyErr {
    fn from(error: table::Error) -> Self {
        match error {
            table::Error::Wire(error) => error.into(),
            other => Python::attach(|py| validation(py, other.to_string())),
        }
    }
}
