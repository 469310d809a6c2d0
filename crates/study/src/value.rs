//! Types of TOML values.

use toml::de::DeValue;

use crate::key::Shape;
use crate::syntax::Scalar;

/// Converts a value to a scalar, if it is one.
pub(crate) fn scalar(value: &DeValue<'_>) -> Option<Scalar> {
    match value {
        DeValue::String(text) => Some(Scalar::Text(text.to_string())),
        DeValue::Boolean(boolean) => Some(Scalar::Boolean(*boolean)),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).ok().map(Scalar::Integer)
        }
        DeValue::Float(number) => {
            number.as_str().parse().ok().filter(|float: &f64| float.is_finite()).map(Scalar::Float)
        }
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// The type of a value, as a phrase that follows "is".
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) if scalar(value).is_none() => "a number beyond 64 bits",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) if scalar(value).is_none() => "a number that is not finite",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

impl Shape {
    /// Whether a value has this type; its content is checked later.
    pub(crate) fn accepts(self, value: &DeValue<'_>) -> bool {
        let is_number = value.is_integer() || value.is_float();
        if is_number && scalar(value).is_none() {
            return false;
        }
        match self {
            Self::Text | Self::Words(_) | Self::TemplatedWords(_) | Self::Duration => {
                value.is_str()
            }
            Self::Boolean => value.is_bool(),
            Self::TemplatedBoolean => value.is_bool() || value.is_str(),
            Self::Whole => value.is_integer(),
            Self::TemplatedWhole | Self::Size => value.is_integer() || value.is_str(),
            Self::Number => is_number,
            Self::Percent => is_number || value.is_str(),
            Self::Scalar => scalar(value).is_some(),
            Self::HugePages => value.is_str() || value.is_table(),
            Self::Texts => value.is_str() || value.is_array(),
            Self::TextOrScalars => value.is_str() || value.is_table(),
            Self::Scalars
            | Self::Knobs
            | Self::Factors
            | Self::Sysctls
            | Self::Arguments
            | Self::Overlay
            | Self::Table(_)
            | Self::Named(_) => value.is_table(),
            Self::List(_) | Self::Combinations => value.is_array(),
        }
    }

    /// Whether other parts of the file may refer to entries of this value.
    pub(crate) fn holds_parts(self) -> bool {
        matches!(self, Self::Texts | Self::Knobs | Self::Factors | Self::Named(_) | Self::List(_))
    }

    /// The accepted values, as a phrase that follows "expected".
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Text | Self::Words(_) | Self::TemplatedWords(_) => "a text in quotes",
            Self::Boolean => "`true` or `false`",
            Self::TemplatedBoolean => "`true`, `false`, or a template such as \"{outside}\"",
            Self::Whole => "a whole number",
            Self::TemplatedWhole => "a whole number, or a template such as \"{groups}\"",
            Self::Size => "an amount of data such as \"2 GiB\"",
            Self::Duration => "a duration such as \"20 s\", in quotes",
            Self::Percent => "a percentage such as \"10 %\"",
            Self::Number => "a number",
            Self::Scalar => "a number, a text or a boolean",
            Self::Texts => "a text, or a list of texts",
            Self::Scalars => "a table such as { name = 1 }",
            Self::Combinations => "a list of tables such as [{ factor = 1, other = [2, 3] }]",
            Self::TextOrScalars => "a text, or a table such as { factor = 1 }",
            Self::Knobs => "a table such as { \"io.weight\" = [100, 200] }",
            Self::Arguments => "a table such as { name = 1, other = [1, 2] }",
            Self::Factors => "a table of lists such as groups = [4, 8]",
            Self::Sysctls => "a table such as { \"vm.dirty_ratio\" = 5 }",
            Self::HugePages => {
                "a word such as \"always\", or a table such as { enabled = \"never\" }"
            }
            Self::Table(_) | Self::Named(_) => "a table",
            Self::Overlay => "tables of the study itself, such as [published.factors]",
            Self::List(_) => "a list of tables, written [[...]]",
        }
    }
}
