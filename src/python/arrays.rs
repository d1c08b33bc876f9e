//! NumPy arrays as runs of float64: read where they lie when they can be, converted once when not.

use std::ffi::c_int;

use numpy::PyArray1;
use numpy::npyffi::{
    _PyArray_GET_ITEM_DATA, _PyDataType_GET_ITEM_DATA, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE,
    NPY_TYPES, NpyTypes, PyArray_Check, PyArrayObject_fields, get_type_object,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use super::{buffers, elements, errors};

const DOUBLE: usize = size_of::<f64>();

/// Values of a variable: C-ordered little-endian float64, kept alive by the array that holds them.
pub struct Values<'py> {
    owner: Bound<'py, PyAny>,
    data: *const u8,
    count: usize,
}

impl<'py> Values<'py> {
    /// The array itself, if it is a plain one that already holds C-ordered float64.
    #[inline]
    pub(super) fn borrowed(value: &Bound<'py, PyAny>) -> Option<Self> {
        if !is_plain(value) {
            return None;
        }
        // SAFETY: `is_plain` says that it is an array.
        let fields = unsafe { fields(value) };
        let wanted = (NPY_TYPES::NPY_DOUBLE as c_int, true);
        if fields.flags & NPY_ARRAY_C_CONTIGUOUS == 0 || type_of(fields) != wanted {
            return None;
        }
        Some(Self {
            data: fields.data.cast(),
            count: count(fields),
            owner: value.clone(),
        })
    }

    /// How many doubles there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether they lie in `array`, and were not converted.
    #[must_use]
    pub fn are_those_of(&self, array: &Bound<'_, PyAny>) -> bool {
        self.owner.is(array)
    }

    /// The doubles, eight bytes each.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.count == 0 {
            return &[]; // An empty array's pointer need not point anywhere.
        }
        // SAFETY: `owner` is a C-contiguous float64 array of `count` elements; NumPy refuses to move its data while
        // it is referenced. Bytes have no alignment.
        unsafe { std::slice::from_raw_parts(self.data, self.count * DOUBLE) }
    }
}

/// The values of `value`, which is the variable `name`.
///
/// # Errors
/// `TypeError` when they are not real numbers, `OverflowError` when one is too large for a double, and whatever
/// an element's own conversion raises.
#[inline]
pub fn values_of<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Values<'py>> {
    match Values::borrowed(value) {
        Some(values) => Ok(values),
        None => converted(value, name),
    }
}

#[cold]
fn converted<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Values<'py>> {
    let array = elements::float64_array(value, name)?;
    Values::borrowed(&array).ok_or_else(|| {
        errors::wrong_dtype(
            value.py(),
            format!("variable '{name}': the values cannot be read as float64"),
        )
    })
}

/// Room for doubles in an array of Python's.
pub struct Target<'py> {
    owner: Bound<'py, PyAny>,
    data: *mut u8,
    count: usize,
}

/// The room that `array` offers, if it is a plain, writable, C-ordered float64 array.
#[must_use]
pub fn writable_f64<'py>(array: &Bound<'py, PyAny>) -> Option<Target<'py>> {
    let values = Values::borrowed(array)?;
    // SAFETY: `borrowed` has checked that it is an array.
    let writable = unsafe { fields(array) }.flags & NPY_ARRAY_WRITEABLE != 0;
    writable.then(|| Target {
        data: values.data.cast_mut(),
        count: values.count,
        owner: values.owner,
    })
}

impl<'py> Target<'py> {
    /// How many doubles there is room for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no room at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The room of `count` doubles behind the first `from`, if there is that much.
    #[must_use]
    pub fn part(&self, from: usize, count: usize) -> Option<Self> {
        let end = from.checked_add(count)?;
        (end <= self.count).then(|| Self {
            owner: self.owner.clone(),
            // Within the array, as just checked; an empty one may point nowhere, and is not moved in.
            data: self.data.wrapping_add(from * DOUBLE),
            count,
        })
    }

    /// The doubles that are there, eight bytes each.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.count == 0 {
            return &[];
        }
        // SAFETY: `owner` keeps `count` doubles at `data` alive, and nobody writes to them while the GIL is held.
        unsafe { std::slice::from_raw_parts(self.data, self.count * DOUBLE) }
    }

    /// The array that offers the room.
    #[must_use]
    pub fn into_array(self) -> Bound<'py, PyAny> {
        self.owner
    }

    /// Makes all of it zeros.
    pub fn clear(&self) {
        // SAFETY: `owner` keeps `count` doubles at `data` alive. All bits zero are the double zero.
        unsafe { self.data.write_bytes(0, self.count * DOUBLE) };
    }

    /// Copies doubles to where element `offset` is; says whether they fit. Nothing is written when they do not.
    #[must_use]
    #[inline]
    pub fn copy_in(&self, offset: usize, bytes: &[u8]) -> bool {
        bytes.len().is_multiple_of(DOUBLE)
            && offset
                .checked_mul(DOUBLE)
                .is_some_and(|offset| self.copy_bytes(offset, bytes))
    }

    /// Copies a piece of the bytes of doubles to where byte `offset` is; otherwise as `copy_in`.
    #[must_use]
    #[inline]
    pub fn copy_bytes(&self, offset: usize, bytes: &[u8]) -> bool {
        let room = (self.count * DOUBLE).checked_sub(offset);
        if room.is_none_or(|room| bytes.len() > room) {
            return false;
        }
        if !bytes.is_empty() {
            // SAFETY: checked above: the bytes fit behind `offset` in what `owner` keeps alive.
            unsafe {
                let destination = self.data.add(offset);
                buffers::copy_parts(self.owner.py(), &[bytes], bytes.len(), destination);
            }
        }
        true
    }
}

/// Whether `value` is an `ndarray`, or a `memmap`, which differs only in where its memory comes from.
#[inline]
pub(super) fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    let class = value.get_type_ptr();
    // SAFETY: reads a pointer that NumPy has exported.
    let ndarray = unsafe { get_type_object(value.py(), NpyTypes::PyArray_Type) };
    class == ndarray || (is_array(value) && is_memmap(value))
}

/// Whether `value` is an `ndarray` or of a class derived from it.
#[inline]
pub(super) fn is_array(value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: a live object.
    unsafe { PyArray_Check(value.py(), value.as_ptr()) != 0 }
}

#[cold]
fn is_memmap(value: &Bound<'_, PyAny>) -> bool {
    static CELL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CELL.import(value.py(), "numpy", "memmap")
        .is_ok_and(|memmap| value.get_type().is(memmap))
}

/// A dtype's kind character and number.
pub(super) struct Dtype {
    pub(super) kind: u8,
    pub(super) number: c_int,
}

/// The dtype of an array; nothing for what is not an array.
pub(super) fn dtype_of(value: &Bound<'_, PyAny>) -> Option<Dtype> {
    if !is_array(value) {
        return None;
    }
    // SAFETY: it is an array, and an array always has a descriptor.
    let descr = unsafe { &*_PyDataType_GET_ITEM_DATA(fields(value).descr) };
    Some(Dtype {
        kind: buffers::byte(descr.kind),
        number: descr.type_num,
    })
}

/// Whether an array holds float64, of either byte order.
pub(super) fn is_f64(value: &Bound<'_, PyAny>) -> bool {
    dtype_of(value).is_some_and(|dtype| dtype.number == NPY_TYPES::NPY_DOUBLE as c_int)
}

/// Whether `value` is an array that can be written to.
pub(super) fn is_writable(value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the fields are read only of an array.
    is_array(value) && unsafe { fields(value) }.flags & NPY_ARRAY_WRITEABLE != 0
}

/// A new one-dimensional array of the doubles in `bytes`.
pub(super) fn new_f64<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: not read before it is filled: `copy_in` writes every element, or this fails.
    let array = unsafe { PyArray1::<f64>::new(py, [bytes.len() / DOUBLE], false) }.into_any();
    match writable_f64(&array) {
        Some(target) if target.copy_in(0, bytes) => Ok(array),
        _ => Err(PyTypeError::new_err(
            "the payload is not a whole number of doubles",
        )),
    }
}

/// Where the elements of a plain one-byte array lie, and how many there are.
pub(super) fn byte_array(array: &Bound<'_, PyAny>) -> Option<(*const u8, usize)> {
    let Dtype { number, .. } = dtype_of(array)?;
    // SAFETY: `dtype_of` has checked that it is an array.
    let fields = unsafe { fields(array) };
    let contiguous = fields.flags & NPY_ARRAY_C_CONTIGUOUS != 0;
    (contiguous && number == NPY_TYPES::NPY_UBYTE as c_int)
        .then(|| (fields.data.cast_const().cast(), count(fields)))
}

/// # Safety
/// `array` must be an `ndarray` or of a class derived from it.
#[inline]
unsafe fn fields<'a>(array: &'a Bound<'_, PyAny>) -> &'a PyArrayObject_fields {
    // SAFETY: the caller vouches for the type.
    unsafe { &*_PyArray_GET_ITEM_DATA(array.as_ptr().cast()) }
}

/// The number of the dtype, and whether its bytes are in the machine's order.
#[inline]
fn type_of(fields: &PyArrayObject_fields) -> (c_int, bool) {
    // SAFETY: an array always has a descriptor.
    let descr = unsafe { &*_PyDataType_GET_ITEM_DATA(fields.descr) };
    (descr.type_num, buffers::byte(descr.byteorder) != b'>')
}

#[inline]
fn count(fields: &PyArrayObject_fields) -> usize {
    let Ok(dimensions @ 1..) = usize::try_from(fields.nd) else {
        return 1; // A scalar array; its `dimensions` may be null.
    };
    // SAFETY: an array has `nd` dimensions.
    let shape = unsafe { std::slice::from_raw_parts(fields.dimensions, dimensions) };
    // The product of what lies in memory fits; that of an empty array may wrap on its way to zero.
    shape
        .iter()
        .fold(1_isize, |size, &dimension| size.wrapping_mul(dimension))
        .unsigned_abs()
}
