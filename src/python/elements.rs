//! Arrays that are not plain float64, turned into ones that are.

use std::ffi::c_int;

use numpy::npyffi::{NPY_TYPES, NpyTypes, get_type_object};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyByteArray, PyBytes, PyComplex, PyFloat, PyString};

use super::arrays::{self, Dtype};
use super::errors::{chained, class_name, wrong_dtype};

/// The first number of the dtypes that other packages define (bfloat16 and the like).
const FIRST_USER_DTYPE: c_int = NPY_TYPES::NPY_USERDEF as c_int;

/// A plain C-ordered float64 array of the values of `value`, the variable `name`.
pub(super) fn float64_array<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(Dtype { kind, number }) = arrays::dtype_of(value) else {
        return float64_array(&as_array(value, name)?, name);
    };
    match kind {
        b'b' | b'i' | b'u' | b'f' | b'c' | b'O' if !arrays::is_plain(value) => each(value, name),
        b'b' | b'i' | b'u' => cast(value),
        b'f' => quietly(value.py(), || cast(value)),
        b'c' => real_part(value, name),
        b'O' => each(value, name),
        b'V' if number >= FIRST_USER_DTYPE && number < NPY_TYPES::NPY_VSTRING as c_int => {
            each(value, name)
        }
        _ => Err(refused(value, name)),
    }
}

/// What is not an array yet becomes one as NumPy does it.
fn as_array<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    numpy_function(py)?.call1((value,)).map_err(|cause| {
        let class = class_name(value);
        let text = format!("variable '{name}': a {class} that is not an array of numbers");
        chained(py, wrong_dtype(py, text), cause)
    })
}

/// NumPy's own conversion, in one pass.
fn cast<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let options = [("dtype", "<f8"), ("order", "C")].into_py_dict(py)?;
    numpy_function(py)?.call((value,), Some(&options))
}

fn numpy_function(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CELL.import(py, "numpy", "asarray")
}

/// Runs `work` without NumPy's floating-point warnings: `float()` on each element, which this stands for, gives none.
fn quietly<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let options = [("all", "ignore")].into_py_dict(py)?;
    let state = CELL
        .import(py, "numpy", "errstate")?
        .call((), Some(&options))?;
    state.call_method0("__enter__")?;
    let outcome = work();
    let none = py.None();
    state.call_method1("__exit__", (&none, &none, &none))?;
    outcome
}

fn real_part<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    if value.getattr("imag")?.call_method0("any")?.is_truthy()? {
        return Err(complex_step(value.py(), name, &dtype_text(value)));
    }
    let real = value.getattr("real")?;
    quietly(value.py(), || cast(&real))
}

fn complex_step(py: Python<'_>, name: &str, what: &str) -> PyErr {
    wrong_dtype(
        py,
        format!(
            "Philote carries real values: a complex step cannot pass through (variable '{name}', {what})"
        ),
    )
}

fn refused(value: &Bound<'_, PyAny>, name: &str) -> PyErr {
    let dtype = dtype_text(value);
    wrong_dtype(
        value.py(),
        format!(
            "variable '{name}': values of {dtype} cannot be sent, Philote carries real numbers"
        ),
    )
}

/// The dtype of an array, for a message.
fn dtype_text(value: &Bound<'_, PyAny>) -> String {
    let dtype = value.getattr("dtype").and_then(|dtype| dtype.str());
    dtype.map_or_else(
        |_| String::from("an unknown dtype"),
        |dtype| format!("dtype {}", dtype.to_string_lossy()),
    )
}

/// Element by element through `float()`, as stock reads an array: what a subclass makes of its elements counts.
fn each<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let mut flat = value.call_method0("ravel")?;
    if flat.getattr("ndim")?.extract::<usize>()? != 1 {
        flat = flat.getattr("flat")?; // A matrix stays two-dimensional.
    }
    let mut numbers = Vec::new();
    for (index, item) in flat.try_iter()?.enumerate() {
        numbers.push(number(&item?, index, name)?);
    }
    let array: Bound<'py, PyArray1<f64>> = numbers.into_pyarray(py);
    Ok(array.into_any())
}

fn number(item: &Bound<'_, PyAny>, index: usize, name: &str) -> PyResult<f64> {
    if let Ok(float) = item.cast_exact::<PyFloat>() {
        return Ok(float.value());
    }
    if is_complex(item) {
        if item.getattr(intern!(item.py(), "imag"))?.is_truthy()? {
            let what = format!("element {index}, a {}", item.get_type());
            return Err(complex_step(item.py(), name, &what));
        }
        return number(&item.getattr(intern!(item.py(), "real"))?, index, name);
    }
    if is_text(item) || is_time(item) {
        let class = item.get_type();
        let text = not_real(name, index, &format!("a {class}"));
        return Err(wrong_dtype(item.py(), text));
    }
    item.extract()
        .map_err(|cause| explained(item.py(), cause, index, name))
}

/// Names the variable and the element in an error of the element's own conversion.
fn explained(py: Python<'_>, cause: PyErr, index: usize, name: &str) -> PyErr {
    let text = not_real(name, index, &cause.value(py).to_string());
    if cause.is_instance_of::<PyTypeError>(py) {
        chained(py, wrong_dtype(py, text), cause)
    } else if cause.is_instance_of::<PyOverflowError>(py) {
        chained(py, PyOverflowError::new_err(text), cause)
    } else {
        cause
    }
}

fn not_real(name: &str, index: usize, what: &str) -> String {
    format!("variable '{name}': element {index} is not a real number that fits a double: {what}")
}

fn is_complex(item: &Bound<'_, PyAny>) -> bool {
    item.is_instance_of::<PyComplex>() || is_numpy(item, NpyTypes::PyComplexFloatingArrType_Type)
}

/// NumPy's strings have a `float()` of their own, which parses them.
fn is_text(item: &Bound<'_, PyAny>) -> bool {
    item.is_instance_of::<PyString>()
        || item.is_instance_of::<PyBytes>()
        || item.is_instance_of::<PyByteArray>()
}

fn is_time(item: &Bound<'_, PyAny>) -> bool {
    is_numpy(item, NpyTypes::PyDatetimeArrType_Type)
        || is_numpy(item, NpyTypes::PyTimedeltaArrType_Type)
}

/// Whether `item` is one of NumPy's integers. A time difference derives from them, but counts nothing.
pub(super) fn is_numpy_integer(item: &Bound<'_, PyAny>) -> bool {
    is_numpy(item, NpyTypes::PyIntegerArrType_Type) && !is_time(item)
}

/// Whether `item` is an instance of one of NumPy's scalar types.
pub(super) fn is_numpy(item: &Bound<'_, PyAny>, class: NpyTypes) -> bool {
    // SAFETY: a live object, and a type that NumPy exports and never frees.
    unsafe {
        let class = get_type_object(item.py(), class);
        pyo3::ffi::PyObject_TypeCheck(item.as_ptr(), class) != 0
    }
}
