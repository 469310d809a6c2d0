//! Tests of study files: parsing, diagnostics and schema.

mod corpus;
mod founding;
mod robustness;
mod schema;
mod set_factor;
