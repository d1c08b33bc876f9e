//! Metadata as Python has it: pairs of a key and a value.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple, PyTupleMethods};

use crate::transport::metadata::{Metadata, is_binary};

/// Reads what a user gives as metadata, with grpcio's errors.
pub fn from_python(pairs: &Bound<'_, PyAny>) -> PyResult<Metadata> {
    let mut metadata = Metadata::default();
    if pairs.is_none() || is_empty_tuple(pairs) {
        return Ok(metadata);
    }
    for pair in pairs.try_iter()? {
        let pair = pair?;
        let (key, value) = unpack(&pair)?;
        let key = text(&key)?;
        let bytes = if is_binary(&key) {
            binary(&key, &value)?
        } else {
            text(&value)?.into_bytes()
        };
        metadata.push(&key, bytes).map_err(|_| invalid(&pair))?;
    }
    Ok(metadata)
}

/// Gives metadata to Python.
pub fn to_python<'py>(py: Python<'py>, metadata: &Metadata) -> PyResult<Bound<'py, PyTuple>> {
    let pairs: Vec<_> = metadata
        .iter()
        .map(|(key, value)| {
            let value = if is_binary(key) {
                PyBytes::new(py, value).into_any()
            } else {
                // A peer may send what is no ASCII.
                PyString::new(py, &String::from_utf8_lossy(value)).into_any()
            };
            PyTuple::new(py, [PyString::new(py, key).into_any(), value])
        })
        .collect::<PyResult<_>>()?;
    PyTuple::new(py, pairs)
}

fn is_empty_tuple(pairs: &Bound<'_, PyAny>) -> bool {
    pairs.cast::<PyTuple>().is_ok_and(PyTupleMethods::is_empty)
}

fn unpack<'py>(pair: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let mut items = pair.try_iter()?;
    let (Some(key), Some(value)) = (items.next(), items.next()) else {
        return Err(PyValueError::new_err(
            "a pair of a key and a value is needed as metadata",
        ));
    };
    if items.next().is_some() {
        return Err(PyValueError::new_err("too many values to unpack"));
    }
    Ok((key?, value?))
}

fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(value.to_cow()?.into_owned());
    }
    match value.cast::<PyBytes>() {
        Ok(value) => Ok(String::from_utf8_lossy(value.as_bytes()).into_owned()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "Expected str, not {}",
            value.get_type()
        ))),
    }
}

fn binary(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match value.cast::<PyBytes>() {
        Ok(value) => Ok(value.as_bytes().to_vec()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "Binary metadata key=\"{key}\" expected bytes, got {}",
            value.get_type()
        ))),
    }
}

fn invalid(pair: &Bound<'_, PyAny>) -> PyErr {
    let text = pair
        .repr()
        .map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
    PyValueError::new_err(format!("metadata was invalid: {text}"))
}
