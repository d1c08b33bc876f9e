//! Arrays that nobody has seen yet.

use std::ffi::c_int;

use numpy::npyffi::{NPY_TYPES, PY_ARRAY_API, npy_intp};
use pyo3::prelude::*;

/// A new C-ordered float64 array of zeros.
///
/// # Errors
/// What NumPy raises where there is no memory for it, or a shape has too many dimensions.
pub fn zeros<'py>(py: Python<'py>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let dims = shape.iter().map(|&n| npy_intp::try_from(n));
    let mut dims = dims.collect::<Result<Vec<_>, _>>()?;
    let nd = c_int::try_from(dims.len())?;
    // SAFETY: `dims` has `nd` entries; the descriptor's reference is stolen by the call.
    unsafe {
        let double = PY_ARRAY_API.PyArray_DescrFromType(py, NPY_TYPES::NPY_DOUBLE as c_int);
        let array = PY_ARRAY_API.PyArray_Zeros(py, nd, dims.as_mut_ptr(), double, 0);
        Bound::from_owned_ptr_or_err(py, array)
    }
}
