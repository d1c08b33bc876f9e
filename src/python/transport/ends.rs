//! Native calls, as the tables write and read them.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::call::NativeCall;
use super::server_call::NativeServerCall;
use crate::python::errors::ended;
use crate::transport::ends::Exchange;

/// The call that `object` is, where it is a native one.
///
/// # Errors
/// Where it is one that a parent process has made.
pub fn native(object: &Bound<'_, PyAny>) -> PyResult<Option<Arc<dyn Exchange>>> {
    if let Ok(call) = object.cast_exact::<NativeCall>() {
        let call = call.get().live().ok_or_else(|| ended(object))?;
        return Ok(Some(Arc::clone(call) as Arc<dyn Exchange>));
    }
    if let Ok(call) = object.cast_exact::<NativeServerCall>() {
        let call = call.get().call()?;
        return Ok(Some(Arc::clone(call) as Arc<dyn Exchange>));
    }
    Ok(None)
}

/// The call to send by.
///
/// # Errors
/// `TypeError` where `to` is no native call; what `native` says.
pub fn sender(to: &Bound<'_, PyAny>) -> PyResult<Arc<dyn Exchange>> {
    native(to)?.ok_or_else(|| {
        let class = to.get_type();
        PyTypeError::new_err(format!("a native call is expected, got {class}"))
    })
}
