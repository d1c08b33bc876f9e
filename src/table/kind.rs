//! The numbers of the enum `VariableType`, and the words for them.

/// A continuous input.
pub const INPUT: i32 = 0;
/// A discrete input.
pub const DISCRETE_INPUT: i32 = 1;
/// A residual of an implicit discipline.
pub const RESIDUAL: i32 = 2;
/// A continuous output.
pub const OUTPUT: i32 = 3;
/// A discrete output.
pub const DISCRETE_OUTPUT: i32 = 4;
/// A partial derivative.
pub const PARTIAL: i32 = 5;

/// The word for one variable of that type, as error texts use it.
#[must_use]
pub fn noun(kind: i32) -> &'static str {
    match kind {
        INPUT => "input",
        DISCRETE_INPUT => "discrete input",
        RESIDUAL => "residual",
        OUTPUT => "output",
        DISCRETE_OUTPUT => "discrete output",
        PARTIAL => "partial",
        _ => "variable",
    }
}

/// Whether the Philote standard has that type.
#[must_use]
pub fn is_known(kind: i32) -> bool {
    (INPUT..=PARTIAL).contains(&kind)
}
