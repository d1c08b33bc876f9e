//! Arrays that nobody has seen yet.

use std::ffi::c_int;

use numpy::npyffi::{NPY_TYPES, PY_ARRAY_API, npy_intp};
use pyo3::prelude::*;

/// A new C-ordered float64 array of zeros.
///
/// # Errors
/// What NumPy raises where there is no memory for it, or a shape has too many dimensions.
pub fn zeros<'py>(py: Python<'py>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    fresh(py, shape, true)
}

/// A new C-ordered float64 array whose values are whatever the memory held before.
///
/// To write zeros first costs half as much as the values that come take; who makes such an array writes all of it
/// before anybody sees it.
///
/// # Errors
/// As for `zeros`.
pub fn unwritten<'py>(py: Python<'py>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    fresh(py, shape, false)
}

fn fresh<'py>(py: Python<'py>, shape: &[usize], zeroed: bool) -> PyResult<Bound<'py, PyAny>> {
    for &extent in shape {
        npy_intp::try_from(extent)?;
    }
    let nd = c_int::try_from(shape.len())?;
    // The signed words that NumPy reads, as checked above.
    let dims = shape.as_ptr().cast_mut().cast::<npy_intp>();
    // SAFETY: `dims` has `nd` entries, which NumPy does not write to; the descriptor's reference is stolen by the call.
    unsafe {
        let double = PY_ARRAY_API.PyArray_DescrFromType(py, NPY_TYPES::NPY_DOUBLE as c_int);
        let array = if zeroed {
            PY_ARRAY_API.PyArray_Zeros(py, nd, dims, double, 0)
        } else {
            PY_ARRAY_API.PyArray_Empty(py, nd, dims, double, 0)
        };
        Bound::from_owned_ptr_or_err(py, array)
    }
}
