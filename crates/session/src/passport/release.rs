//! Releases of kernels by their names: the order of columns, and which release surely came before which.

/// A release, ordered by its numbers: 6.12.43 is before 6.12.117, and 6.19.0-rc1 before 6.19.0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Release {
    version: [u64; 3],
    /// The number behind `-rc`; the release itself follows all of these.
    candidate: u64,
    /// What a distribution counts in the name: 56 of 6.1.0-56-amd64.
    abi: Option<u64>,
    /// The rest of the name.
    rest: String,
}

impl Release {
    pub(super) fn new(name: &str) -> Self {
        let end = name.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(name.len());
        let (version, rest) = name.split_at(end);
        let mut numbers = version.split('.').map(|digits| digits.parse().unwrap_or(0));
        let version = [0; 3].map(|_| numbers.next().unwrap_or(0));
        let suffix = rest.strip_prefix(['-', '~']).unwrap_or_default();
        let candidate = suffix.strip_prefix("rc").and_then(|text| number(text).0);
        let (abi, rest) = match (version[2], number(suffix)) {
            (0, (Some(abi), flavour)) => (Some(abi), flavour),
            _ => (None, rest),
        };
        Self { version, candidate: candidate.unwrap_or(u64::MAX), abi, rest: rest.to_owned() }
    }

    /// Whether this one surely came before the other. `6.1.0-56-amd64` is a late 6.1.y: it has its place among names
    /// of its kind, and none among those of 6.1.y that have no such number. Of two names of one version nothing is known.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        let is_one_series = self.version[..2] == other.version[..2];
        match (self.abi, other.abi) {
            (Some(one), Some(two)) if is_one_series => self.rest == other.rest && one < two,
            (Some(_), None) | (None, Some(_)) if is_one_series => false,
            _ => (self.version, self.candidate) < (other.version, other.candidate),
        }
    }
}

/// The number at the beginning, and what follows.
fn number(text: &str) -> (Option<u64>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_ordered_by_numbers_and_candidates_come_first() {
        let sorted = [
            "5.10.0-46-amd64",
            "6.12.43+deb12-amd64",
            "6.12.117+deb12-amd64",
            "6.19.0-rc2",
            "6.19.0-rc10+",
            "6.19.0",
            "6.19.1",
            "7.3.4+deb13-amd64",
        ];
        let mut releases = sorted;
        releases.reverse();
        releases.sort_by_key(|release| Release::new(release));
        assert_eq!(releases, sorted);
    }

    #[test]
    fn an_order_is_known_only_where_names_tell_it() {
        let is_before = |one, two| Release::new(one).is_before(&Release::new(two));
        for (one, two) in [
            ("6.19.0-rc1", "6.19.0"),
            ("6.19.0-rc2", "6.19.0-rc10"),
            ("6.1.0-50-amd64", "6.1.0-56-amd64"),
            ("5.10.0-46-amd64", "6.1.0-56-amd64"),
            ("6.1.0-56-amd64", "6.12.1"),
            ("6.12.43+deb12-amd64", "6.12.117+deb12-amd64"),
        ] {
            assert!(is_before(one, two), "{one} came before {two}");
            assert!(!is_before(two, one), "{two} came after {one}");
        }
        for (one, two) in [
            ("6.1.0", "6.1.0"),
            ("6.9.0-mine1", "6.9.0-mine2"),
            ("6.12.43+deb12-amd64", "6.12.43+deb13-amd64"),
            ("6.1.0-56-amd64", "6.1.50"),
            ("6.8.0-45-generic", "6.8.0-50-amd64"),
        ] {
            assert!(!is_before(one, two) && !is_before(two, one), "{one} beside {two}");
        }
    }
}
