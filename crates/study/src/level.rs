//! Levels of factors as promises and references name them.

use crate::syntax::{Factor, Scalar};

/// The level of a factor that is meant: numbers by their value, so that `2` names the level `2.0`,
/// and everything else as it is written.
#[must_use]
pub fn level_of<'f>(factor: &'f Factor, wanted: &Scalar) -> Option<&'f Scalar> {
    factor.values.iter().find(|level| is_same(level, wanted))
}

pub(crate) fn is_same(level: &Scalar, wanted: &Scalar) -> bool {
    match (number(level), number(wanted)) {
        (Some(level), Some(wanted)) => level == wanted,
        _ => level == wanted || level.to_string() == wanted.to_string(),
    }
}

fn number(scalar: &Scalar) -> Option<f64> {
    match scalar {
        Scalar::Integer(number) => Some(*number as f64),
        Scalar::Float(number) => Some(*number),
        Scalar::Boolean(_) | Scalar::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_levels_by_value_and_texts_as_they_are_written() {
        let limits = Factor {
            name: "limit".to_owned(),
            values: vec![Scalar::Float(0.6), Scalar::Float(2.0)],
        };
        assert_eq!(level_of(&limits, &Scalar::Integer(2)), Some(&Scalar::Float(2.0)));
        assert_eq!(level_of(&limits, &Scalar::Float(0.7)), None);
        let places = Factor {
            name: "memory".to_owned(),
            values: vec![Scalar::Text("first touch".to_owned()), Scalar::Text("2".to_owned())],
        };
        assert_eq!(
            level_of(&places, &Scalar::Text("first touch".to_owned())),
            Some(&places.values[0])
        );
        // The command line writes texts where the file writes numbers.
        assert_eq!(level_of(&places, &Scalar::Integer(2)), Some(&places.values[1]));
    }
}
