//! The workload language: lexer and parser, reporting all mistakes in one pass.

mod attributes;
mod lexer;
mod mistake;
mod parser;
mod script;

pub(super) use mistake::{Mistake, Position, format_mistakes, suggestion};
pub(super) use parser::parse;
pub(super) use script::{
    Attribute, Command, FlowOp, Piece, Quit, Script, Statement, ThreadBlock, Value,
};

#[cfg(test)]
mod tests;
