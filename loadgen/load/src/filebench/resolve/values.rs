//! Attribute values as numbers, booleans and text, with variables substituted.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::super::distribution::Distribution;
use super::super::language::{Attribute, Mistake, Piece, Position, Value, suggestion};
use super::super::workload::Amount;

/// The value of a variable.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    Integer(u64),
    Bool(bool),
    Text(String),
    Random(Arc<Distribution>),
}

impl Bound {
    /// Parses a value of the command line: `10`, `16k`, `true`, or a text.
    pub(super) fn parse(text: &str) -> Self {
        let (digits, scale) = match text.char_indices().last() {
            Some((at, 'k')) => (&text[..at], 1 << 10),
            Some((at, 'm')) => (&text[..at], 1 << 20),
            Some((at, 'g')) => (&text[..at], 1 << 30),
            _ => (text, 1u64),
        };
        match (digits.parse::<u64>().ok().and_then(|n| n.checked_mul(scale)), text) {
            (Some(number), _) => Self::Integer(number),
            (None, "true") => Self::Bool(true),
            (None, "false") => Self::Bool(false),
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Bool(bool) => write!(f, "{bool}"),
            Self::Text(text) => f.write_str(text),
            Self::Random(_) => f.write_str("(random)"),
        }
    }
}

/// The value of an attribute and its position.
pub(super) struct AttributeValue<'a> {
    /// `None` for an attribute without a value, which means true.
    pub(super) value: Option<&'a Value>,
    pub(super) position: Position,
    pub(super) name: &'a str,
}

pub(super) type Variables = HashMap<String, Bound>;

/// The last attribute with one of these names.
pub(super) fn find<'a>(list: &'a [Attribute], names: &[&'a str]) -> Option<AttributeValue<'a>> {
    let actual = list.iter().rev().find(|attribute| names.contains(&attribute.name.as_str()))?;
    Some(AttributeValue {
        value: actual.value.as_ref(),
        position: actual.position,
        name: &actual.name,
    })
}

fn bound(
    attribute: &AttributeValue<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<Bound, Mistake> {
    match attribute.value {
        None => Ok(Bound::Bool(true)),
        Some(Value::Integer(number)) => Ok(Bound::Integer(*number)),
        Some(Value::Bool(bool)) => Ok(Bound::Bool(*bool)),
        Some(Value::Word(word)) => Ok(Bound::Text(word.clone())),
        Some(Value::Text(pieces)) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(literal) => Ok(literal.clone()),
                Piece::Variable(name) => {
                    lookup(name, attribute, locals, globals).map(|bound| bound.to_string())
                }
            })
            .collect::<Result<String, Mistake>>()
            .map(Bound::Text),
        Some(Value::Variable(name)) => lookup(name, attribute, locals, globals),
        Some(Value::Table(_)) => Err(wrong(attribute, "a table", "only `randtable` takes a table")),
    }
}

fn lookup(
    name: &str,
    attribute: &AttributeValue<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<Bound, Mistake> {
    locals.get(name).or_else(|| globals.get(name)).cloned().ok_or_else(|| {
        let known: Vec<&str> = globals.keys().map(String::as_str).collect();
        let remedy = format!("write `set ${name}=...`; {}", suggestion(name, &known));
        Mistake::new(attribute.position, format!("${name} has no value"), remedy)
    })
}

/// The value of a variable or literal, for locals of composite operations.
pub(super) fn local(
    attribute: &AttributeValue<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<Bound, Mistake> {
    bound(attribute, locals, globals)
}

fn wrong(attribute: &AttributeValue<'_>, actual: &str, remedy: &str) -> Mistake {
    Mistake::new(attribute.position, format!("`{}` cannot be {actual}", attribute.name), remedy)
}

/// A number, fixed or random.
pub(super) fn amount(
    attribute: &AttributeValue<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<Amount, Mistake> {
    match bound(attribute, locals, globals)? {
        Bound::Integer(number) => Ok(Amount::Fixed(number)),
        Bound::Random(distribution) => Ok(Amount::Random(distribution)),
        Bound::Bool(bool) => {
            Err(wrong(attribute, &format!("`{bool}`"), "write a number, as in 16k, or a variable"))
        }
        Bound::Text(text) => {
            Err(wrong(attribute, &format!("`{text}`"), "write a number, as in 16k, or a variable"))
        }
    }
}

/// A boolean; a number is true unless it is 0.
pub(super) fn truth(
    attribute: &AttributeValue<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<bool, Mistake> {
    match bound(attribute, locals, globals)? {
        Bound::Bool(bool) => Ok(bool),
        Bound::Integer(number) => Ok(number != 0),
        Bound::Text(text) => Err(wrong(attribute, &format!("`{text}`"), "write true or false")),
        Bound::Random(_) => Err(wrong(attribute, "random", "write true or false")),
    }
}

/// A name or a path.
pub(super) fn text(
    attribute: &AttributeValue<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<String, Mistake> {
    match bound(attribute, locals, globals)? {
        Bound::Text(text) if !text.is_empty() => Ok(text),
        Bound::Integer(number) => Ok(number.to_string()),
        _ => Err(wrong(attribute, "empty or without a text", "write a word or a \"text\"")),
    }
}
