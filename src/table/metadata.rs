//! The metadata messages of the Philote standard, as the table reads them.

use super::Error;
pub use crate::wire::metadata::{PartialsMeta, VariableMeta};
use crate::wire::{self, metadata};

/// Reads a serialised `VariableMetaData`.
///
/// # Errors
/// [`Error::Metadata`] where the bytes are no such message.
pub fn read_variable(bytes: &[u8]) -> Result<VariableMeta, Error> {
    metadata::decode_variable(bytes).map_err(|error| unreadable(&error))
}

/// Reads a serialised `PartialsMetaData`.
///
/// # Errors
/// [`Error::Metadata`] where the bytes are no such message.
pub fn read_partials(bytes: &[u8]) -> Result<PartialsMeta, Error> {
    metadata::decode_partials(bytes).map_err(|error| unreadable(&error))
}

fn unreadable(error: &wire::Error) -> Error {
    Error::Metadata(error.to_string())
}

impl VariableMeta {
    /// Whether the shape is dynamic and has not been set.
    #[must_use]
    pub fn is_unresolved(&self) -> bool {
        self.dynamic_shape && self.shape.is_empty()
    }
}

/// The metadata of a variable without units, for tests.
#[cfg(test)]
pub(super) fn meta(kind: i32, name: &str, shape: &[i64]) -> VariableMeta {
    let (name, shape) = (name.to_owned(), shape.to_vec());
    VariableMeta {
        kind,
        name,
        shape,
        ..VariableMeta::default()
    }
}
