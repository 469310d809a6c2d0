//! Values that may refer to factors.

use std::str::FromStr;

use assay_sys::units::Bytes;

use crate::scalar::{Bindings, Scalar};

/// A value, or a text such as `"{groups}"` that becomes one when a trial's factors are known.
#[derive(Debug, Clone, PartialEq)]
pub enum Templated<T> {
    /// Known already.
    Value(T),
    /// To be resolved.
    Template(String),
}

/// Conversion of a resolved scalar to the type of a field.
pub trait FromScalar: Sized + Clone {
    /// The accepted values, as a phrase that follows "expected".
    const EXPECTED: &'static str;

    /// The value, or `None` if the scalar is not valid.
    fn from_scalar(scalar: &Scalar) -> Option<Self>;
}

impl<T: FromScalar> Templated<T> {
    /// The value under these bindings, or the reason why there is none.
    pub fn resolve(&self, bindings: &Bindings) -> Result<T, String> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Template(text) => {
                let scalar = substitute(text, bindings)?;
                T::from_scalar(&scalar)
                    .ok_or_else(|| format!("`{text}` becomes `{scalar}`, expected {}", T::EXPECTED))
            }
        }
    }
}

/// The names in braces, in order.
pub fn factor_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name.trim()))
}

/// The longest text that a template without its braces becomes, in bytes.
const LONGEST: usize = 4096;

/// Replaces each `{factor}`. A text that consists of one template keeps the factor's type.
pub fn substitute(text: &str, bindings: &Bindings) -> Result<Scalar, String> {
    let bound =
        |name: &str| bindings.get(name).ok_or_else(|| format!("unknown factor `{{{name}}}`"));
    if let Some(name) = whole_template(text) {
        return bound(name).cloned();
    }
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) =
            after.split_once('}').ok_or_else(|| format!("`{text}` has a `{{` without its `}}`"))?;
        resolved.push_str(before);
        resolved.push_str(&bound(name.trim())?.to_string());
        if resolved.len() > LONGEST.max(text.len()) {
            return Err(format!("a template becomes a text of more than {LONGEST} bytes"));
        }
        rest = tail;
    }
    resolved.push_str(rest);
    Ok(Scalar::Text(resolved))
}

/// Names in braces that could be factors. Braces around anything else (`{print $1}`, `{}`) belong
/// to the program.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let candidates = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    candidates.filter(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    })
}

/// Replaces each `{factor}` that is bound and leaves all other braces unchanged.
#[must_use]
pub fn fill(text: &str, bindings: &Bindings) -> String {
    bindings.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), &value.to_string())
    })
}

fn whole_template(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    (!name.contains(['{', '}'])).then(|| name.trim())
}

impl FromScalar for Scalar {
    const EXPECTED: &'static str = "a number, a text or a boolean";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        Some(scalar.clone())
    }
}

impl FromScalar for String {
    const EXPECTED: &'static str = "a text";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        Some(scalar.to_string())
    }
}

impl FromScalar for bool {
    const EXPECTED: &'static str = "`true` or `false`";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar {
            Scalar::Boolean(value) => Some(*value),
            _ => None,
        }
    }
}

impl FromScalar for u32 {
    const EXPECTED: &'static str = "a whole number from 0 to 4294967295";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar {
            Scalar::Integer(value) => Self::try_from(*value).ok(),
            Scalar::Text(text) => text.trim().parse().ok(),
            Scalar::Boolean(_) | Scalar::Float(_) => None,
        }
    }
}

impl FromScalar for Bytes {
    const EXPECTED: &'static str = "an amount of data such as `64 KiB` or `2 GiB`";

    fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar {
            Scalar::Integer(value) => u64::try_from(*value).ok().map(Self::new),
            Scalar::Text(text) => Self::from_str(text).ok(),
            Scalar::Boolean(_) | Scalar::Float(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bindings() -> Bindings {
        [
            ("groups".to_owned(), Scalar::Integer(8)),
            ("bs".to_owned(), Scalar::Text("4k".to_owned())),
        ]
        .into()
    }

    #[test]
    fn a_text_of_one_template_keeps_the_type_of_the_factor() {
        assert_eq!(substitute("{groups}", &bindings()), Ok(Scalar::Integer(8)));
        assert_eq!(substitute("1/{groups}", &bindings()), Ok(Scalar::Text("1/8".to_owned())));
        assert_eq!(substitute("{groups}x{bs}", &bindings()), Ok(Scalar::Text("8x4k".to_owned())));
    }

    #[test]
    fn braces_without_a_factor_are_left_unchanged() {
        assert_eq!(
            fill("awk '{print $1}' {bs} {directory}", &bindings()),
            "awk '{print $1}' 4k {directory}"
        );
        assert_eq!(
            identifiers("a{x} {} {print $1} {no-name}").collect::<Vec<_>>(),
            ["x", "no-name"]
        );
    }

    #[test]
    fn unknown_factors_and_unclosed_braces_are_named() {
        assert!(substitute("{grups}", &bindings()).unwrap_err().contains("grups"));
        assert!(substitute("1/{groups", &bindings()).unwrap_err().contains("without"));
    }

    #[test]
    fn a_resolved_value_of_the_wrong_type_is_shown() {
        let count: Templated<u32> = Templated::Template("{bs}".to_owned());
        let message = count.resolve(&bindings()).unwrap_err();
        assert!(message.contains("`4k`") && message.contains("whole number"), "{message}");
    }
}
