//! The data of the protobuf runtime's own `Array` messages, moved as one blob in place of one object per double.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PySlice, PyType};

use super::arrays::{self, Values, values_of, writable_f64};
use super::buffers::bytes_of;
use super::errors::{class_name, validation};
use crate::wire;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_array_data, module)?)?;
    module.add_function(wrap_pyfunction!(get_array_data, module)?)?;
    module.add_function(wrap_pyfunction!(read_array_into, module)?)
}

/// Replace the data of an ``Array`` message.
///
/// Parameters
/// ----------
/// message : philote_mdo.generated.data_pb2.Array
///     The message, changed in place.
/// values : array_like
///     The new values, of any real dtype and layout.
///
/// Raises
/// ------
/// TypeError
///     If `message` is not an ``Array``, or `values` are not real numbers.
/// PhiloteValidationError
///     If protobuf cannot carry that many values.
#[pyfunction]
fn set_array_data(message: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = message.py();
    check_type(message)?;
    let values = match Values::borrowed(values) {
        Some(values) => values,
        None => values_of(values, &name_of(message)?)?,
    };
    let prefix = match wire::packed_prefix("", values.len()) {
        Ok(prefix) => prefix,
        Err(_) => wire::packed_prefix(&name_of(message)?, values.len())?,
    };
    let field = bytes_of(py, &[&prefix, values.bytes()])?;
    let data = message.getattr(intern!(py, "data"))?;
    if data.len()? != 0 {
        // `ClearField` would abandon the old values' memory to the message's arena at every call.
        data.del_item(PySlice::full(py))?;
    }
    message.call_method1(intern!(py, "MergeFromString"), (field,))?;
    Ok(())
}

/// Copy the data of an ``Array`` message to a new array.
///
/// Parameters
/// ----------
/// message : philote_mdo.generated.data_pb2.Array
///     The message.
///
/// Returns
/// -------
/// numpy.ndarray
///     One dimension of float64.
///
/// Raises
/// ------
/// TypeError
///     If `message` is not an ``Array``.
#[pyfunction]
fn get_array_data<'py>(message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let bytes = serialized(message)?;
    let array = wire::decode_array(bytes.as_bytes())?;
    arrays::new_f64(message.py(), array.data.as_bytes())
}

/// Copy the data of an ``Array`` message to where it belongs.
///
/// Parameters
/// ----------
/// message : philote_mdo.generated.data_pb2.Array
///     The message.
/// destination : numpy.ndarray
///     A writable float64 array of any layout with as many elements as the message has values.
///
/// Raises
/// ------
/// TypeError
///     If `message` is not an ``Array``.
/// PhiloteValidationError
///     If `destination` is of another dtype or size, or cannot be written to.
#[pyfunction]
fn read_array_into(message: &Bound<'_, PyAny>, destination: &Bound<'_, PyAny>) -> PyResult<()> {
    let bytes = serialized(message)?;
    let array = wire::decode_array(bytes.as_bytes())?;
    let (name, data) = (array.header.name, array.data.as_bytes());
    if let Some(target) = writable_f64(destination) {
        if target.len() == array.data.len() && target.copy_in(0, data) {
            return Ok(());
        }
        return Err(wrong_size(
            message.py(),
            name,
            array.data.len(),
            target.len(),
        ));
    }
    let size = check_destination(destination, name)?;
    if size != array.data.len() {
        return Err(wrong_size(message.py(), name, array.data.len(), size));
    }
    copy_to_layout(destination, data)
}

/// Lets NumPy place C-ordered doubles in an array that is not C-ordered itself.
fn copy_to_layout(destination: &Bound<'_, PyAny>, data: &[u8]) -> PyResult<()> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = destination.py();
    let shape = destination.getattr("shape")?;
    let source = arrays::new_f64(py, data)?.call_method1("reshape", (shape,))?;
    CELL.import(py, "numpy", "copyto")?
        .call1((destination, source))?;
    Ok(())
}

/// How many elements `destination` has, if it can take doubles at all.
fn check_destination(destination: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    let py = destination.py();
    let fault = if !arrays::is_array(destination) {
        format!(
            "expected a numpy ndarray, got a {}",
            class_name(destination)
        )
    } else if !arrays::is_f64(destination) {
        format!(
            "expected a float64 array, got one of {}",
            destination.getattr("dtype")?
        )
    } else if !arrays::is_writable(destination) {
        String::from("the destination array is read-only")
    } else {
        return destination.getattr("size")?.extract();
    };
    Err(validation(py, format!("variable '{name}': {fault}")))
}

fn wrong_size(py: Python<'_>, name: &str, came: usize, room: usize) -> PyErr {
    validation(
        py,
        format!("variable '{name}': {came} values came for an array of {room}"),
    )
}

fn serialized<'py>(message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    check_type(message)?;
    let bytes = message.call_method0(intern!(message.py(), "SerializeToString"))?;
    Ok(bytes.cast_into::<PyBytes>()?)
}

fn name_of(message: &Bound<'_, PyAny>) -> PyResult<String> {
    message.getattr(intern!(message.py(), "name"))?.extract()
}

/// Field 6 of another message would be lost in silence among its unknown fields.
fn check_type(message: &Bound<'_, PyAny>) -> PyResult<()> {
    static KNOWN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = message.py();
    let class = message.get_type();
    if KNOWN.get(py).is_some_and(|known| class.is(known)) {
        return Ok(());
    }
    let full_name = class
        .getattr("DESCRIPTOR")
        .and_then(|descriptor| descriptor.getattr("full_name")?.extract::<String>());
    match full_name {
        Ok(name) if name == "philote.Array" => {
            // Another thread may have been first, with the same class.
            let _ = KNOWN.set(py, class.unbind());
            Ok(())
        }
        _ => Err(PyTypeError::new_err(format!(
            "expected a philote.Array message, got a {class}"
        ))),
    }
}
