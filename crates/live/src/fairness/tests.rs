//! Made-up hosts for tests of several modules.

pub(crate) mod made_up;
mod simulation;
