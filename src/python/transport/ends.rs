//! Native calls, as the tables write and read them.

use std::convert::Infallible;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::transport::ends::{Incoming, Outgoing};
use crate::transport::framing::Framer;

/// Where a request or a reply is sent.
pub struct Destination(Infallible);

impl Destination {
    /// What `to` is.
    ///
    /// # Errors
    /// `TypeError` where it is no native call, and nothing that begins one.
    pub fn of(to: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = format!("a native call is expected, got {}", to.get_type().name()?);
        Err(PyTypeError::new_err(text))
    }

    /// What frames the messages.
    pub fn framer(&self) -> Framer {
        match self.0 {}
    }

    /// The call to send by, as Python has it too.
    pub fn call<'py>(&self) -> PyResult<(Bound<'py, PyAny>, Arc<dyn Outgoing>)> {
        match self.0 {}
    }
}

/// What comes by `source`, where it is a native call.
pub fn incoming(_source: &Bound<'_, PyAny>) -> Option<Arc<dyn Incoming>> {
    None
}
