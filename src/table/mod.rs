//! What the metadata of a discipline says: variables, partials, shapes, chunks, prebuilt headers.

pub mod names;
