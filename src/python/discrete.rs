//! Discrete values: Python objects to `google.protobuf.Value` and back, by stock's rules and the repairs of them.

use numpy::npyffi::NpyTypes;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use super::arrays;
use super::elements::{is_numpy, is_numpy_integer};
use super::errors::{chained, class_name};
use crate::wire;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(value_to_python, module)?)?;
    module.add_function(wrap_pyfunction!(python_to_value, module)?)
}

/// `object`, the discrete variable `name`, as a protobuf value.
///
/// # Errors
/// `OverflowError` for an int too large for a double, `UnicodeEncodeError` for a lone surrogate,
/// `PhiloteValidationError` for what is nested too deeply, and whatever `str(object)` raises.
pub fn to_value(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Value> {
    Converter { name }.value(object, wire::MAX_DEPTH)
}

struct Converter<'a> {
    name: &'a str,
}

impl Converter<'_> {
    /// `depth` is how many messages may still be nested in this value. It bounds the recursion.
    fn value(&self, object: &Bound<'_, PyAny>, depth: u32) -> PyResult<Value> {
        let kind = if object.is_none() {
            Kind::NullValue(0)
        } else if let Ok(float) = object.cast_exact::<PyFloat>() {
            Kind::NumberValue(float.value())
        } else if let Ok(truth) = object.cast::<PyBool>() {
            Kind::BoolValue(truth.is_true())
        } else if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
            Kind::NumberValue(self.number(object)?)
        } else if let Ok(text) = object.cast::<PyString>() {
            Kind::StringValue(text.to_str()?.to_owned())
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            self.list(object, depth)?
        } else if let Ok(dict) = object.cast::<PyDict>() {
            self.fields(dict, depth)?
        } else {
            return self.other(object, depth);
        };
        Ok(Value { kind: Some(kind) })
    }

    /// NumPy's scalars and arrays; the text of all else.
    fn other(&self, object: &Bound<'_, PyAny>, depth: u32) -> PyResult<Value> {
        let kind = if arrays::is_array(object) {
            return self.value(&plain(object)?, depth);
        } else if is_numpy(object, NpyTypes::PyBoolArrType_Type) {
            Kind::BoolValue(object.is_truthy()?)
        } else if is_numpy_number(object) {
            Kind::NumberValue(self.number(object)?)
        } else {
            Kind::StringValue(object.str()?.to_str()?.to_owned())
        };
        Ok(Value { kind: Some(kind) })
    }

    fn number(&self, object: &Bound<'_, PyAny>) -> PyResult<f64> {
        let py = object.py();
        // `float(object)`, so that a subclass's `__float__` is asked as stock asks it.
        let float = py.get_type::<PyFloat>().call1((object,));
        float.and_then(|float| float.extract()).map_err(|cause| {
            if self.name.is_empty() || !cause.is_instance_of::<PyOverflowError>(py) {
                return cause;
            }
            let text = format!("variable '{}': {}", self.name, cause.value(py));
            chained(py, PyOverflowError::new_err(text), cause)
        })
    }

    fn list(&self, object: &Bound<'_, PyAny>, depth: u32) -> PyResult<Kind> {
        let items = self.deeper(depth)?;
        let mut values = Vec::new();
        for item in object.try_iter()? {
            values.push(self.value(&item?, self.deeper(items)?)?);
        }
        Ok(Kind::ListValue(ListValue { values }))
    }

    fn fields(&self, dict: &Bound<'_, PyDict>, depth: u32) -> PyResult<Kind> {
        let entries = self.deeper(depth)?;
        let mut fields = Struct::default();
        // Of a dict, `items()` is a view that notices changes made by a `__str__` meanwhile, as stock's does.
        for item in dict.call_method0(intern!(dict.py(), "items"))?.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
            let depth = self.deeper(self.deeper(entries)?)?;
            let key = key.str()?.to_str()?.to_owned();
            fields.fields.insert(key, self.value(&value, depth)?);
        }
        Ok(Kind::StructValue(fields))
    }

    fn deeper(&self, depth: u32) -> Result<u32, wire::Error> {
        depth.checked_sub(1).ok_or_else(|| wire::Error::ValueDepth {
            name: self.name.to_owned(),
        })
    }
}

/// An array's elements as Python's own lists and scalars.
fn plain<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match arrays::dtype_of(array).map(|dtype| dtype.kind) {
        Some(b'b' | b'i' | b'u' | b'f' | b'U' | b'T' | b'O') => array.call_method0("tolist"),
        // `tolist` would turn some dates into bare ints: keep the scalars, which become text.
        _ if array.getattr("ndim")?.extract::<usize>()? == 0 => {
            array.get_item(PyTuple::empty(array.py()))
        }
        _ => Ok(
            PyList::new(array.py(), array.try_iter()?.collect::<PyResult<Vec<_>>>()?)?.into_any(),
        ),
    }
}

fn is_numpy_number(object: &Bound<'_, PyAny>) -> bool {
    is_numpy_integer(object) || is_numpy(object, NpyTypes::PyFloatingArrType_Type)
}

/// A protobuf value as a Python object. A value of no kind is `None`.
///
/// # Errors
/// Only for want of memory. The nesting is that of a decoded value, at most 100 messages.
pub fn from_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match &value.kind {
        None | Some(Kind::NullValue(_)) => Ok(py.None().into_bound(py)),
        Some(Kind::BoolValue(truth)) => Ok(PyBool::new(py, *truth).to_owned().into_any()),
        Some(Kind::NumberValue(number)) => from_number(py, *number),
        Some(Kind::StringValue(text)) => Ok(PyString::new(py, text).into_any()),
        Some(Kind::ListValue(list)) => {
            let items = list.values.iter().map(|item| from_value(py, item));
            Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        Some(Kind::StructValue(fields)) => {
            let dict = PyDict::new(py);
            for (key, item) in &fields.fields {
                dict.set_item(key, from_value(py, item)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// An int where no digit is lost, as in stock; NaN and infinity stay floats.
fn from_number(py: Python<'_>, number: f64) -> PyResult<Bound<'_, PyAny>> {
    if !number.is_finite() || number.fract() != 0.0 {
        return Ok(PyFloat::new(py, number).into_any());
    }
    // SAFETY: gives a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromDouble(number)) }
}

/// Convert a ``google.protobuf.Value`` to a Python object.
///
/// Parameters
/// ----------
/// value : google.protobuf.struct_pb2.Value
///     The value.
///
/// Returns
/// -------
/// None, bool, int, float, str, list or dict
///     A number without a fraction is an int; NaN and infinity are floats.
///
/// Raises
/// ------
/// AttributeError, ValueError, TypeError
///     If `value` is not a ``Value``.
#[pyfunction]
fn value_to_python<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let kind = value.call_method1(intern!(py, "WhichOneof"), (intern!(py, "kind"),))?;
    let Ok(kind) = kind.cast::<PyString>() else {
        return Ok(py.None().into_bound(py));
    };
    match kind.to_str()? {
        "number_value" => from_number(py, value.getattr(intern!(py, "number_value"))?.extract()?),
        "string_value" => value.getattr(intern!(py, "string_value")),
        "bool_value" => value.getattr(intern!(py, "bool_value")),
        "list_value" | "struct_value" => nested_to_python(value),
        _ => Ok(py.None().into_bound(py)),
    }
}

/// A list or a struct, in one go in place of one Python object per element.
fn nested_to_python<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if !value.get_type().is(value_class(py)?) {
        let text = format!(
            "expected a google.protobuf.Value, got a {}",
            class_name(value)
        );
        return Err(PyTypeError::new_err(text));
    }
    let bytes = value.call_method0(intern!(py, "SerializeToString"))?;
    from_value(
        py,
        &wire::decode_value(bytes.cast::<PyBytes>()?.as_bytes())?,
    )
}

/// Convert a Python object to a ``google.protobuf.Value``.
///
/// Parameters
/// ----------
/// obj : object
///     None, a bool, number or string, a list, tuple, dict or NumPy array of such; anything else is sent as its text.
///
/// Returns
/// -------
/// google.protobuf.struct_pb2.Value
///     The value.
///
/// Raises
/// ------
/// OverflowError
///     If an int is too large for a double.
/// PhiloteValidationError
///     If `obj` is nested more deeply than protobuf allows, for instance because it contains itself.
#[pyfunction]
fn python_to_value<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = obj.py();
    let bytes = wire::encode_value("", &to_value(obj, "")?)?;
    let from_string = CELL.get_or_try_init(py, || {
        value_class(py)?.getattr("FromString").map(Bound::unbind)
    })?;
    from_string.bind(py).call1((PyBytes::new(py, &bytes),))
}

fn value_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CELL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CELL.import(py, "google.protobuf.struct_pb2", "Value")
}
