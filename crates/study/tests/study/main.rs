//! Study files: all that may be in them, all mistakes that are found in them, and their schema.

mod corpus;
mod robustness;
mod schema;
mod set_factor;
