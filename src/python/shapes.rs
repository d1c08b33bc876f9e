//! The shapes that a client gives to dynamic variables, as `SetVariableShapes` brings them.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use super::errors::validation;
use super::intake::each_message;
use super::tables::variable_bytes;
use crate::table::{VariableMeta, read_variable};

/// Reads a stream of `VariableMetaData` and gives the shape of each variable, by type and name.
///
/// `declared` holds the variables of the discipline by the same keys. Checked in stock's order and with its texts;
/// a later shape of one variable wins, so that a peer that sends one again and again takes no memory.
#[pyfunction]
pub fn read_shapes<'py>(
    messages: &Bound<'py, PyAny>,
    declared: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = messages.py();
    let shapes = PyDict::new(py);
    each_message(messages, metadata_bytes, |message: &[u8]| {
        let meta = read_variable(message)?;
        let shape = checked_shape(py, &meta)?;
        let key = (meta.kind, &meta.name).into_pyobject(py)?;
        check_variable(py, &meta, declared.get_item(&key)?)?;
        shapes.set_item(key, shape)
    })?;
    Ok(shapes)
}

fn metadata_bytes(message: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyBytes>> {
    match message.cast_into::<PyBytes>() {
        Ok(bytes) => Ok(bytes),
        Err(object) => variable_bytes(&object.into_inner()),
    }
}

fn checked_shape<'py>(py: Python<'py>, meta: &VariableMeta) -> PyResult<Bound<'py, PyTuple>> {
    match meta.shape.iter().position(|&extent| extent <= 0) {
        None => PyTuple::new(py, &meta.shape),
        Some(at) => Err(validation(
            py,
            format!(
                "SetVariableShapes: all elements of 'shape' must be positive, but element {at} is {} \
                 (variable '{}').",
                meta.shape[at], meta.name
            ),
        )),
    }
}

fn check_variable(
    py: Python<'_>,
    meta: &VariableMeta,
    variable: Option<Bound<'_, PyAny>>,
) -> PyResult<()> {
    let name = &meta.name;
    let Some(variable) = variable else {
        return Err(validation(
            py,
            format!("SetVariableShapes: variable '{name}' not found."),
        ));
    };
    if variable
        .getattr(intern!(py, "dynamic_shape"))?
        .is_truthy()?
    {
        return Ok(());
    }
    Err(validation(
        py,
        format!("Variable '{name}' does not allow dynamic shapes."),
    ))
}
