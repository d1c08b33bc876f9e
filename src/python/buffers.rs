//! Bytes that Python owns: new ones made in one allocation, and incoming ones read where they lie.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use numpy::npyffi::{NPY_TYPES, NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

use super::arrays;

/// Copies of more bytes than this let other threads run. Below it, handing the GIL over costs more than the copy.
pub(super) const DETACH_BYTES: usize = 256 * 1024;

/// The largest object that Python can hold.
const MAX_BYTES: usize = isize::MAX as usize;

/// A destination that may be filled by a thread that has let go of the GIL.
struct Destination(*mut u8);

// SAFETY: the memory belongs to an object that no other thread can see yet, or that the caller keeps alive.
unsafe impl Send for Destination {}

impl Destination {
    /// # Safety
    /// The destination must be valid for writes of all `parts` together.
    unsafe fn fill(self, parts: &[&[u8]]) {
        let mut next = self.0;
        for part in parts {
            // SAFETY: the caller vouches for the room. `copy`, because a part may lie in the same array.
            unsafe {
                ptr::copy(part.as_ptr(), next, part.len());
                next = next.add(part.len());
            }
        }
    }
}

/// Copies `parts` one after the other to `destination`, without the GIL when they are large.
///
/// # Safety
/// `destination` must be valid for writes of all `parts` together, `total` bytes, until this returns.
pub(super) unsafe fn copy_parts(
    py: Python<'_>,
    parts: &[&[u8]],
    total: usize,
    destination: *mut u8,
) {
    let destination = Destination(destination);
    if total > DETACH_BYTES {
        // SAFETY: as promised by the caller.
        py.detach(move || unsafe { destination.fill(parts) });
    } else {
        // SAFETY: as promised by the caller.
        unsafe { destination.fill(parts) };
    }
}

/// One `bytes` object of all `parts`: one allocation, which is not zeroed first.
///
/// # Errors
/// `MemoryError`, or `OverflowError` when no object can be that large.
pub fn bytes_of<'py>(py: Python<'py>, parts: &[&[u8]]) -> PyResult<Bound<'py, PyBytes>> {
    let total = parts
        .iter()
        .try_fold(0_usize, |sum, part| sum.checked_add(part.len()));
    let Some(total) = total.filter(|&total| total <= MAX_BYTES) else {
        return Err(PyOverflowError::new_err(
            "a message is larger than an object can be",
        ));
    };
    // SAFETY: a null source asks for uninitialised room of `total` bytes, filled below before anyone reads it.
    let bytes = unsafe {
        let object = ffi::PyBytes_FromStringAndSize(ptr::null(), total.cast_signed());
        Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: the object is new, has room for `total` bytes, and no one else knows of it.
    unsafe {
        let destination = ffi::PyBytes_AsString(bytes.as_ptr()).cast::<u8>();
        copy_parts(py, parts, total, destination);
    }
    Ok(bytes)
}

/// Bytes that a Python object lends for as long as it lives.
pub(super) struct Buffer<'py> {
    owner: Bound<'py, PyAny>,
    data: *const u8,
    len: usize,
}

impl<'py> Buffer<'py> {
    /// The bytes of a `bytes`, or of any other object with a C-contiguous buffer.
    pub(super) fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::of_bytes(bytes));
        }
        let py = object.py();
        let view = memory_view(py)?.call1((object,))?;
        if view.getattr("nbytes")?.extract::<usize>()? == 0 {
            return Ok(Self::of_bytes(&PyBytes::new(py, b"")));
        }
        // NumPy keeps the exporter locked while the array lives: a bytearray cannot be resized.
        let owner = from_buffer(py)?.call1((view, "B"))?;
        let (data, len) = arrays::byte_array(&owner)
            .ok_or_else(|| PyValueError::new_err("the buffer cannot be read as bytes"))?;
        Ok(Self { owner, data, len })
    }

    pub(super) fn of_bytes(bytes: &Bound<'py, PyBytes>) -> Self {
        let content = bytes.as_bytes();
        Self {
            data: content.as_ptr(),
            len: content.len(),
            owner: bytes.as_any().clone(),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        // SAFETY: `owner` keeps `len` bytes at `data` alive; the GIL is held by whoever holds `self`.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }

    /// A read-only float64 array that shares the memory of `part`, which must lie in this buffer.
    pub(super) fn view(&self, part: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let start = if part.is_empty() {
            self.data.addr()
        } else {
            part.as_ptr().addr()
        };
        let offset = start
            .checked_sub(self.data.addr())
            .filter(|offset| {
                offset
                    .checked_add(part.len())
                    .is_some_and(|end| end <= self.len)
            })
            .ok_or_else(|| PyValueError::new_err("the payload lies outside its buffer"))?;
        // SAFETY: checked above: `part.len()` bytes at `offset` are inside what `owner` keeps alive.
        unsafe {
            read_only(
                &self.owner,
                self.data.add(offset),
                part.len() / size_of::<f64>(),
            )
        }
    }
}

/// # Safety
/// `owner` must keep `count` doubles at `data` alive, aligned or not.
unsafe fn read_only<'py>(
    owner: &Bound<'py, PyAny>,
    data: *const u8,
    count: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let mut shape = [npy_intp::try_from(count)?];
    // Strides are given so that NumPy works out for itself whether the data is aligned.
    let mut strides: [npy_intp; 1] = [size_of::<f64>().cast_signed()];
    // SAFETY: the descriptor's reference is stolen by the array, the base's by `PyArray_SetBaseObject`.
    unsafe {
        let double = PY_ARRAY_API.PyArray_DescrFromType(py, NPY_TYPES::NPY_DOUBLE as c_int);
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            double,
            1,
            shape.as_mut_ptr(),
            strides.as_mut_ptr(),
            data.cast_mut().cast::<c_void>(),
            0,
            ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        let base = owner.clone().into_ptr();
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

fn memory_view(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CELL.import(py, "builtins", "memoryview")
}

fn from_buffer(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CELL.import(py, "numpy", "frombuffer")
}

/// What NumPy calls a byte: used to read raw array fields.
pub(super) const fn byte(character: c_char) -> u8 {
    character.cast_unsigned()
}
