//! What the metadata of a discipline says: variables, partials, shapes, chunks, prebuilt headers.
//!
//! A table is built once from the metadata and never changes; the caller builds another when the metadata has
//! changed. No Python, no I/O.

mod error;
mod fits;
mod headers;
mod inbox;
pub mod kind;
mod metadata;
mod names;
mod progress;
mod role;

use std::collections::HashMap;

pub use error::{Chunk, Error, label};
pub use fits::{first_value, overlook};
pub use headers::{Headers, write as write_header};
pub use inbox::{Beginning, Inbox, Payload, Placed, Side};
pub use metadata::{PartialsMeta, VariableMeta, read_partials, read_variable};
pub use names::Names;
pub use progress::Progress;
pub use role::{Role, Slot};

use crate::wire;

/// The continuous variables of a discipline.
#[derive(Debug)]
pub struct Variables {
    inputs: Role,
    outputs: Role,
    residuals: Role,
    /// The shapes that partials are made of: outputs and residuals differ from inputs of the same name.
    functions: HashMap<Box<str>, Vec<i64>>,
    arguments: HashMap<Box<str>, Vec<i64>>,
    unresolved: Option<String>,
}

impl Variables {
    /// The table of that metadata.
    ///
    /// # Errors
    /// [`Error::Shape`] where a declared shape is impossible.
    pub fn new(metadata: &[VariableMeta]) -> Result<Self, Error> {
        let role = |kind| -> Result<Role, Error> {
            let declared = metadata.iter().filter(|meta| meta.kind == kind);
            let slots = declared.map(|v| Slot::new(&v.name, "", &v.shape, v.is_unresolved()));
            Ok(Role::of_variables(kind, slots.collect::<Result<_, _>>()?))
        };
        Ok(Self {
            inputs: role(kind::INPUT)?,
            outputs: role(kind::OUTPUT)?,
            residuals: role(kind::RESIDUAL)?,
            functions: shapes(metadata, &[kind::OUTPUT, kind::RESIDUAL]),
            arguments: shapes(metadata, &[kind::INPUT, kind::OUTPUT]),
            unresolved: metadata
                .iter()
                .find(|v| v.is_unresolved())
                .map(|v| v.name.clone()),
        })
    }

    /// The inputs.
    #[must_use]
    pub fn inputs(&self) -> &Role {
        &self.inputs
    }

    /// The outputs.
    #[must_use]
    pub fn outputs(&self) -> &Role {
        &self.outputs
    }

    /// The residuals of an implicit discipline.
    #[must_use]
    pub fn residuals(&self) -> &Role {
        &self.residuals
    }

    /// Whether every dynamic shape has been set.
    ///
    /// # Errors
    /// [`Error::Unresolved`] with the first variable whose shape has not.
    pub fn resolved(&self) -> Result<(), Error> {
        self.unresolved
            .clone()
            .map_or(Ok(()), |name| Err(Error::Unresolved(name)))
    }

    /// The declared partials, each with the shape of its function (an output or residual) and that of the variable
    /// it is differentiated by (an input or output).
    ///
    /// # Errors
    /// [`Error::DanglingPartial`] or [`Error::Shape`].
    pub fn partials(&self, metadata: &[PartialsMeta]) -> Result<Role, Error> {
        let slots = metadata.iter().map(|meta| {
            let function = shape_of(&meta.name, meta, [&self.functions, &self.arguments])?;
            let variable = shape_of(&meta.subname, meta, [&self.arguments, &self.functions])?;
            let shape = wire::partials_shape(function, variable);
            Slot::new(&meta.name, &meta.subname, &shape, false)
        });
        Ok(Role::of_partials(
            kind::PARTIAL,
            slots.collect::<Result<_, _>>()?,
        ))
    }
}

fn shape_of<'a>(
    name: &str,
    partial: &PartialsMeta,
    places: [&'a HashMap<Box<str>, Vec<i64>>; 2],
) -> Result<&'a [i64], Error> {
    let found = places.iter().find_map(|shapes| shapes.get(name));
    found
        .map(Vec::as_slice)
        .ok_or_else(|| Error::DanglingPartial {
            label: label(&partial.name, &partial.subname),
            missing: name.to_owned(),
        })
}

/// The shape of each name, from the first of `kinds` that has it.
fn shapes(metadata: &[VariableMeta], kinds: &[i32]) -> HashMap<Box<str>, Vec<i64>> {
    let mut shapes = HashMap::new();
    for kind in kinds {
        for meta in metadata.iter().filter(|meta| meta.kind == *kind) {
            let name = meta.name.as_str().into();
            shapes.entry(name).or_insert_with(|| meta.shape.clone());
        }
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::metadata::meta;
    use super::*;

    fn pair(name: &str, subname: &str) -> PartialsMeta {
        PartialsMeta {
            name: name.to_owned(),
            subname: subname.to_owned(),
        }
    }

    #[test]
    fn a_partial_has_the_shapes_of_its_function_and_of_its_variable() {
        let declared = [
            meta(kind::INPUT, "x", &[3]),
            meta(kind::OUTPUT, "x", &[2]),
            meta(kind::RESIDUAL, "x", &[2]),
            meta(kind::OUTPUT, "f", &[1]),
        ];
        let variables = Variables::new(&declared).expect("possible");
        let partials = [pair("x", "x"), pair("f", "x"), pair("f", "f")];
        let role = variables.partials(&partials).expect("declared");
        let shapes: Vec<&[usize]> = role.slots().iter().map(|slot| &*slot.shape).collect();
        assert_eq!(shapes, [&[2, 3][..], &[3], &[1]]);
        assert_eq!(role.find("f", "x"), Some(1));
        assert_eq!(role.find("x", "f"), None);
    }

    #[test]
    fn a_partial_of_nothing_is_named() {
        let variables = Variables::new(&[meta(kind::OUTPUT, "f", &[1])]).expect("possible");
        let error = variables.partials(&[pair("f", "q")]).expect_err("no q");
        assert_eq!(
            error.to_string(),
            "the partial of 'f' with respect to 'q' is declared, but no variable 'q' is"
        );
    }

    #[test]
    fn a_second_declaration_replaces_the_first_in_its_place() {
        let declared = [
            meta(kind::INPUT, "a", &[1]),
            meta(kind::INPUT, "b", &[1]),
            meta(kind::INPUT, "a", &[5]),
        ];
        let variables = Variables::new(&declared).expect("possible");
        let sizes: Vec<_> = variables
            .inputs()
            .slots()
            .iter()
            .map(|s| (&*s.name, s.size))
            .collect();
        assert_eq!(sizes, [("a", 5), ("b", 1)]);
    }

    #[test]
    fn impossible_shapes_are_refused() {
        for shape in [&[-1][..], &[i64::MAX, 2], &[1 << 62], &[1 << 40, 1 << 40]] {
            assert!(matches!(
                Variables::new(&[meta(kind::INPUT, "x", shape)]),
                Err(Error::Shape { .. })
            ));
        }
    }

    #[test]
    fn the_first_unresolved_variable_is_named() {
        let dynamic = VariableMeta {
            dynamic_shape: true,
            ..meta(kind::INPUT, "x", &[])
        };
        let variables = Variables::new(&[meta(kind::INPUT, "a", &[]), dynamic]).expect("possible");
        assert_eq!(variables.resolved(), Err(Error::Unresolved("x".to_owned())));
    }
}
