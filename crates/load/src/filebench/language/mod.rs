//! The workload language: text to tokens, tokens to a script, all mistakes in one pass.

mod attributes;
mod lexer;
mod mistake;
mod parser;
mod script;

pub(super) use mistake::{Mistake, Place, listed, suggestion};
pub(super) use parser::parse;
pub(super) use script::{
    Attribute, Command, FlowOp, Piece, Quit, Script, Statement, ThreadBlock, Value,
};

#[cfg(test)]
mod tests;
