//! Relations of promises, one entry each: name, words, what they refer to, and which errors break them.

/// How a measure relates to what is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// Shares are proportional to a knob.
    Proportional,
    /// All groups get the same.
    Equal,
    /// No more than a bound or a limit.
    AtMost,
    /// No less than a bound or a protection.
    AtLeast,
    /// A ratio of trials.
    Ratio,
    /// Threads run on their CPUs, or pages lie on their nodes.
    Placed,
    /// No wait for progress is longer than a time.
    Within,
}

/// Everything that is known of a relation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelationInfo {
    /// Its name in a study and in documents.
    pub name: &'static str,
    /// Its words in sentences; what it refers to follows.
    pub phrase: &'static str,
    /// What it refers to.
    pub refers_to: RefersTo,
    /// Whether a measure of the kernel is divided into shares by it.
    pub divides: bool,
    /// The direction of errors that break it.
    pub side: Side,
}

/// What a relation refers to, `to` or `value` of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefersTo {
    /// Nothing.
    Nothing,
    /// A knob of the groups.
    Knob,
    /// A value, or a knob that holds it.
    Bound,
    /// Other trials, by the levels of factors.
    Trials,
    /// A time; without one it follows from the weights and quotas of the trial.
    Time,
}

/// The direction of errors that break a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Too much and too little: shares.
    Both,
    /// Too much: a limit.
    Above,
    /// Too little: a protection.
    Below,
}

impl Side {
    /// Relative error of a value; 0 in the harmless direction.
    #[must_use]
    pub fn error(self, value: f64, expected: f64) -> f64 {
        self.harmful(value / expected - 1.0)
    }

    /// The size of a relative error; 0 in the harmless direction.
    #[must_use]
    pub fn harmful(self, error: f64) -> f64 {
        match self {
            Self::Above => error.max(0.0),
            Self::Below => (-error).max(0.0),
            Self::Both => error.abs(),
        }
    }
}

impl RelationKind {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::Proportional,
        Self::Equal,
        Self::AtMost,
        Self::AtLeast,
        Self::Ratio,
        Self::Placed,
        Self::Within,
    ];

    /// Their names in a study, in this order.
    pub const NAMES: [&str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = Self::ALL[index].name();
            index += 1;
        }
        names
    };

    /// Its entry in the table.
    #[must_use]
    pub const fn info(self) -> RelationInfo {
        let (name, phrase, refers_to, divides, side) = match self {
            Self::Proportional => {
                ("proportional", "proportional to", RefersTo::Knob, true, Side::Both)
            }
            Self::Equal => ("equal", "equal", RefersTo::Nothing, true, Side::Both),
            Self::AtMost => ("at_most", "at most", RefersTo::Bound, false, Side::Above),
            Self::AtLeast => ("at_least", "at least", RefersTo::Bound, false, Side::Below),
            Self::Ratio => ("ratio", "ratio", RefersTo::Trials, false, Side::Both),
            Self::Placed => ("placed", "placed", RefersTo::Nothing, false, Side::Both),
            Self::Within => ("within", "within", RefersTo::Time, false, Side::Above),
        };
        RelationInfo { name, phrase, refers_to, divides, side }
    }

    /// Its name in a study and in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The relation of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|relation| relation.name() == name)
    }

    /// Whether a measure of the kernel is divided into shares by it.
    #[must_use]
    pub const fn divides(self) -> bool {
        self.info().divides
    }

    /// Whether it divides by a knob, in proportion to its values.
    #[must_use]
    pub const fn divides_by_knob(self) -> bool {
        self.divides() && matches!(self.info().refers_to, RefersTo::Knob)
    }

    /// The direction of errors that break it.
    #[must_use]
    pub const fn side(self) -> Side {
        self.info().side
    }

    /// It and what it refers to, in words: `at most cpu.max`.
    #[must_use]
    pub fn in_words(self, to: Option<&str>) -> String {
        let phrase = self.info().phrase;
        to.map_or_else(|| phrase.to_owned(), |to| format!("{phrase} {to}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relation_is_found_by_its_name() {
        for (relation, name) in RelationKind::ALL.into_iter().zip(RelationKind::NAMES) {
            assert_eq!(RelationKind::parse(name), Some(relation));
        }
        assert_eq!(RelationKind::parse("at most"), None);
    }

    #[test]
    fn only_errors_in_the_harmful_direction_count() {
        assert_eq!(Side::Above.error(0.5, 1.0), 0.0);
        assert_eq!(Side::Above.error(1.5, 1.0), 0.5);
        assert_eq!(Side::Below.error(0.5, 1.0), 0.5);
        assert_eq!(Side::Both.error(0.5, 1.0), 0.5);
    }
}
