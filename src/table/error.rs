//! What can be wrong with a chunk or a declaration, given the metadata of the discipline.

use std::fmt;

use super::{Side, kind};

/// The chunk of doubles that an error is about, as its header claims it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The variable, or the function of a partial.
    pub name: String,
    /// What a partial is taken with respect to, else empty.
    pub subname: String,
    /// The variable type on the wire.
    pub kind: i32,
    /// The first index that the chunk claims.
    pub start: i64,
    /// The last index that the chunk claims.
    pub end: i64,
    /// How many values came.
    pub count: usize,
}

impl Chunk {
    /// The chunk that `header` announces, with `count` values.
    #[must_use]
    pub fn new(header: &crate::wire::Header<'_>, count: usize) -> Self {
        Self {
            name: header.name.to_owned(),
            subname: header.subname.to_owned(),
            kind: header.kind,
            start: header.start,
            end: header.end,
            count,
        }
    }
}

/// How error texts name a variable or a partial.
#[must_use]
pub fn label(name: &str, subname: &str) -> String {
    if subname.is_empty() {
        format!("'{name}'")
    } else {
        format!("'{name}' with respect to '{subname}'")
    }
}

impl fmt::Display for Chunk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            subname,
            kind,
            start,
            end,
            count,
        } = self;
        let (noun, label) = (kind::noun(*kind), label(name, subname));
        write!(
            out,
            "{noun} {label} (range {start} to {end}, {count} values received)"
        )
    }
}

/// A chunk or a declaration that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are not a `VariableMessage`, or would be too many for one.
    #[error(transparent)]
    Wire(#[from] crate::wire::Error),
    /// A chunk of doubles without doubles.
    #[error("{}{chunk}{}", nothing_came(*side, chunk), declared(*size))]
    Empty {
        /// Who reads.
        side: Side,
        /// What came.
        chunk: Chunk,
        /// How many values the variable has, where it is declared.
        size: Option<usize>,
    },
    /// A name that no variable of that type has.
    #[error("{0} is not declared by the discipline")]
    Undeclared(Chunk),
    /// A variable of a type that the call does not take.
    #[error("{0} does not belong in this call: it takes no {noun}", noun = kind::noun(.0.kind))]
    Misplaced(Chunk),
    /// A variable type that the Philote standard does not have.
    #[error("{chunk} has the variable type {}; the Philote standard has 0 to 5", chunk.kind)]
    UnknownKind {
        /// What came.
        chunk: Chunk,
    },
    /// A chunk whose range leaves the variable.
    #[error("{chunk} leaves the variable, which is declared with {size} values{}", hint(*unresolved))]
    Outside {
        /// What came.
        chunk: Chunk,
        /// How many values the variable has.
        size: usize,
        /// Whether the shape is dynamic and not yet set.
        unresolved: bool,
    },
    /// A chunk whose number of values is not that of its range.
    #[error(
        "{chunk}: the number of values is not that of the range; the variable is declared with {size} values"
    )]
    Length {
        /// What came.
        chunk: Chunk,
        /// How many values the variable has.
        size: usize,
    },
    /// A variable of which a stream has brought only a part.
    #[error(
        "{} {label} is declared with {size} values, but values {} to {} were not received",
        kind::noun(*kind),
        missing.start,
        missing.end - 1
    )]
    Incomplete {
        /// The type of the variable.
        kind: i32,
        /// The variable or partial.
        label: String,
        /// How many values it has.
        size: usize,
        /// The first of those that are missing.
        missing: std::ops::Range<usize>,
    },
    /// A shape that no array can have.
    #[error("{label} is declared with the shape {shape:?}, which no array can have")]
    Shape {
        /// The variable or partial.
        label: String,
        /// The declared shape.
        shape: Vec<i64>,
    },
    /// A partial of or by something that is not a variable.
    #[error("the partial of {label} is declared, but no variable '{missing}' is")]
    DanglingPartial {
        /// Function and variable of the partial.
        label: String,
        /// The one of the two that is no variable.
        missing: String,
    },
    /// A dynamic shape that nobody has set.
    #[error(
        "Variable '{0}' has dynamic_shape=True but no shape has been set. \
         Call SetVariableShapes before computing."
    )]
    Unresolved(String),
    /// A metadata message that cannot be read.
    #[error("the metadata of a variable cannot be read: {0}")]
    Metadata(String),
}

/// Stock's words, which differ from place to place.
fn nothing_came(side: Side, chunk: &Chunk) -> String {
    match (side, chunk.kind) {
        (Side::Server, _) => format!(
            "Expected continuous variables but arrays were empty for variable {}. ",
            chunk.name
        ),
        (Side::Client, kind::PARTIAL) => {
            "Expected continuous outputs for the partials, but array was empty. ".to_owned()
        }
        (Side::Client, _) => "Expected continuous variables, but array is empty. ".to_owned(),
    }
}

fn declared(size: Option<usize>) -> String {
    size.map_or_else(String::new, |size| {
        format!("; it is declared with {size} values")
    })
}

fn hint(unresolved: bool) -> &'static str {
    if unresolved {
        " (its dynamic shape has not been set)"
    } else {
        ""
    }
}
