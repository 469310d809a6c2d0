//! Levels of factors as promises and references name them.

use crate::scalar::{Scalar, is_same};
use crate::syntax::Factor;

/// Finds a level of a factor. Numbers are compared by value, so `2` names the level `2.0`;
/// everything else is compared as text.
#[must_use]
pub fn find_level<'f>(factor: &'f Factor, named: &Scalar) -> Option<&'f Scalar> {
    factor.values.iter().find(|level| is_same(level, named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_by_value_and_text_literally() {
        let limits = Factor {
            name: "limit".to_owned(),
            values: vec![Scalar::Float(0.6), Scalar::Float(2.0)],
        };
        assert_eq!(find_level(&limits, &Scalar::Integer(2)), Some(&Scalar::Float(2.0)));
        assert_eq!(find_level(&limits, &Scalar::Float(0.7)), None);
        let places = Factor {
            name: "memory".to_owned(),
            values: vec![Scalar::Text("first touch".to_owned()), Scalar::Text("2".to_owned())],
        };
        assert_eq!(
            find_level(&places, &Scalar::Text("first touch".to_owned())),
            Some(&places.values[0])
        );
        // On the command line text may look like a number.
        assert_eq!(find_level(&places, &Scalar::Integer(2)), Some(&places.values[1]));
    }
}
