//! Native calls, as the tables write and read them.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::transport::ends::Exchange;

/// The call that `object` is, where it is a native one.
pub fn native(_object: &Bound<'_, PyAny>) -> Option<Arc<dyn Exchange>> {
    None
}

/// The call to send by.
///
/// # Errors
/// `TypeError` where `to` is no native call.
pub fn sender(to: &Bound<'_, PyAny>) -> PyResult<Arc<dyn Exchange>> {
    native(to).ok_or_else(|| {
        let class = to.get_type();
        PyTypeError::new_err(format!("a native call is expected, got {class}"))
    })
}
