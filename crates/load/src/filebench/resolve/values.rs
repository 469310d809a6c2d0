//! Values of attributes as numbers, truth and text, with variables put in.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::super::distribution::Distribution;
use super::super::language::{Attribute, Mistake, Piece, Place, Value, suggestion};
use super::super::workload::Amount;

/// What a variable stands for.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    Integer(u64),
    Bool(bool),
    Text(String),
    Random(Arc<Distribution>),
}

impl Bound {
    /// From the command line: `10`, `16k`, `true`, or a text.
    pub(super) fn of_text(text: &str) -> Self {
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

/// An attribute's value where it was written.
pub(super) struct Given<'a> {
    /// None where the attribute stands alone, which means true.
    pub(super) value: Option<&'a Value>,
    pub(super) place: Place,
    pub(super) name: &'a str,
}

pub(super) type Variables = HashMap<String, Bound>;

/// The last attribute of one of these names.
pub(super) fn given<'a>(list: &'a [Attribute], names: &[&'a str]) -> Option<Given<'a>> {
    let found = list.iter().rev().find(|attribute| names.contains(&attribute.name.as_str()))?;
    Some(Given { value: found.value.as_ref(), place: found.place, name: &found.name })
}

fn bound(given: &Given<'_>, locals: &Variables, globals: &Variables) -> Result<Bound, Mistake> {
    match given.value {
        None => Ok(Bound::Bool(true)),
        Some(Value::Integer(number)) => Ok(Bound::Integer(*number)),
        Some(Value::Bool(bool)) => Ok(Bound::Bool(*bool)),
        Some(Value::Word(word)) => Ok(Bound::Text(word.clone())),
        Some(Value::Text(pieces)) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(literal) => Ok(literal.clone()),
                Piece::Variable(name) => {
                    lookup(name, given, locals, globals).map(|bound| bound.to_string())
                }
            })
            .collect::<Result<String, Mistake>>()
            .map(Bound::Text),
        Some(Value::Variable(name)) => lookup(name, given, locals, globals),
        Some(Value::Table(_)) => Err(wrong(given, "a table", "only `randtable` takes a table")),
    }
}

fn lookup(
    name: &str,
    given: &Given<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<Bound, Mistake> {
    locals.get(name).or_else(|| globals.get(name)).cloned().ok_or_else(|| {
        let known: Vec<&str> = globals.keys().map(String::as_str).collect();
        let remedy = format!("write `set ${name}=...`; {}", suggestion(name, &known));
        Mistake::new(given.place, format!("${name} has no value"), remedy)
    })
}

/// The value of a variable or literal, for locals of composite operations.
pub(super) fn local(
    given: &Given<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<Bound, Mistake> {
    bound(given, locals, globals)
}

fn wrong(given: &Given<'_>, found: &str, remedy: &str) -> Mistake {
    Mistake::new(given.place, format!("`{}` cannot be {found}", given.name), remedy)
}

/// A number, fixed or random.
pub(super) fn amount(
    given: &Given<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<Amount, Mistake> {
    match bound(given, locals, globals)? {
        Bound::Integer(number) => Ok(Amount::Fixed(number)),
        Bound::Random(distribution) => Ok(Amount::Random(distribution)),
        Bound::Bool(bool) => {
            Err(wrong(given, &format!("`{bool}`"), "write a number, as in 16k, or a variable"))
        }
        Bound::Text(text) => {
            Err(wrong(given, &format!("`{text}`"), "write a number, as in 16k, or a variable"))
        }
    }
}

/// True or false; a number is true unless it is 0.
pub(super) fn truth(
    given: &Given<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<bool, Mistake> {
    match bound(given, locals, globals)? {
        Bound::Bool(bool) => Ok(bool),
        Bound::Integer(number) => Ok(number != 0),
        Bound::Text(text) => Err(wrong(given, &format!("`{text}`"), "write true or false")),
        Bound::Random(_) => Err(wrong(given, "random", "write true or false")),
    }
}

/// A name or a path.
pub(super) fn text(
    given: &Given<'_>,
    locals: &Variables,
    globals: &Variables,
) -> Result<String, Mistake> {
    match bound(given, locals, globals)? {
        Bound::Text(text) if !text.is_empty() => Ok(text),
        Bound::Integer(number) => Ok(number.to_string()),
        _ => Err(wrong(given, "empty or without a text", "write a word or a \"text\"")),
    }
}
