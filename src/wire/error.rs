//! Why bytes are not a message, or a message cannot become bytes.

/// A fault in a buffer, or a message that protobuf cannot carry. Offsets count from the start of the buffer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The buffer, or the field that holds the value, ends too early.
    #[error("truncated at byte {offset}: expected {what}")]
    Truncated {
        /// Where the value begins.
        offset: usize,
        /// What should stand there.
        what: &'static str,
    },
    /// A varint of more bytes than allowed, or a tag that does not fit 32 bits.
    #[error("malformed {what} at byte {offset}: expected a varint of at most {limit} bits")]
    Varint {
        /// Where the varint begins.
        offset: usize,
        /// What the varint stands for.
        what: &'static str,
        /// How many bits it may have.
        limit: u32,
    },
    /// A length that passes the end of the buffer or of the enclosing field.
    #[error("length {length} at byte {offset} passes the end: expected at most {available}")]
    Length {
        /// Where the length begins.
        offset: usize,
        /// The length claimed.
        length: u64,
        /// How many bytes there are.
        available: usize,
    },
    /// Field number 0, or a wire type that does not exist.
    #[error(
        "invalid tag {tag} at byte {offset}: expected a field number of at least 1 and a wire type of 0 to 5"
    )]
    Tag {
        /// Where the tag begins.
        offset: usize,
        /// The tag.
        tag: u32,
    },
    /// A group that does not end, or an end without its start.
    #[error("unmatched group at byte {offset}: expected the end of {expected}")]
    Group {
        /// Where the tag begins, or the group ought to have ended.
        offset: usize,
        /// What should have ended there.
        expected: Expected,
    },
    /// A string that is not UTF-8.
    #[error("invalid {what} at byte {offset}: expected UTF-8 text")]
    Utf8 {
        /// Where the text begins.
        offset: usize,
        /// Which text.
        what: &'static str,
    },
    /// Packed doubles whose length is not a multiple of eight.
    #[error("invalid data at byte {offset}: {length} bytes, expected a multiple of 8")]
    Packed {
        /// Where the payload begins.
        offset: usize,
        /// Its length.
        length: usize,
    },
    /// Nesting that the protobuf runtime refuses.
    #[error("nested too deeply at byte {offset}: expected at most 100 levels")]
    Depth {
        /// Where the level too many begins.
        offset: usize,
    },
    /// A value to be sent is nested more deeply than a receiver accepts.
    #[error(
        "variable '{name}' is nested too deeply: expected at most 100 levels of protobuf messages"
    )]
    ValueDepth {
        /// The variable.
        name: String,
    },
    /// A message to be sent is larger than protobuf allows.
    #[error(
        "{} makes a message of {size} bytes: expected at most 2147483647",
        subject(name)
    )]
    TooLarge {
        /// The variable.
        name: String,
        /// How large the message would be (saturating).
        size: usize,
    },
}

impl Error {
    /// Whether received bytes are at fault, not a value that was to be sent.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        !matches!(self, Self::ValueDepth { .. } | Self::TooLarge { .. })
    }
}

/// Whoever converts a bare value does not know which variable it is.
fn subject(name: &str) -> String {
    if name.is_empty() {
        String::from("the value")
    } else {
        format!("variable '{name}'")
    }
}

/// What an end-group tag should have closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The group of this field number.
    Group(u32),
    /// A message, which no tag closes.
    Message,
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Group(number) => write!(f, "group {number}"),
            Self::Message => f.write_str("a message, not of a group"),
        }
    }
}
