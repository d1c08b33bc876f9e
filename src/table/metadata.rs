//! The metadata messages of the Philote standard, as the table reads them.

use prost::Message as _;

use super::Error;

/// `VariableMetaData` of the Philote standard.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct VariableMeta {
    /// The variable type.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    /// The name of the variable.
    #[prost(string, tag = "3")]
    pub name: String,
    /// The declared shape; empty for a scalar and for a dynamic shape that is not yet set.
    #[prost(int64, repeated, tag = "4")]
    pub shape: Vec<i64>,
    /// The units.
    #[prost(string, tag = "5")]
    pub units: String,
    /// Whether the client may set the shape.
    #[prost(bool, tag = "6")]
    pub dynamic_shape: bool,
}

/// `PartialsMetaData` of the Philote standard.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PartialsMeta {
    /// The function that is differentiated.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The variable that it is differentiated by.
    #[prost(string, tag = "2")]
    pub subname: String,
}

/// Reads one serialised metadata message.
///
/// # Errors
/// [`Error::Metadata`] where the bytes are no such message.
pub fn read<M: prost::Message + Default>(bytes: &[u8]) -> Result<M, Error> {
    M::decode(bytes).map_err(|error| Error::Metadata(error.to_string()))
}

impl VariableMeta {
    /// Whether the shape is dynamic and has not been set.
    #[must_use]
    pub fn is_unresolved(&self) -> bool {
        self.dynamic_shape && self.shape.is_empty()
    }

    /// The serialised message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}
