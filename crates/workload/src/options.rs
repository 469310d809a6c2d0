//! The options that tools know, as lists: who checks a study file starts no tool to ask it.
//!
//! A line has the kind, the option without its dashes, and `value` or `flag`:
//! `graph500 scale value`. Lines that begin with `#` say where a list comes from.

/// The options of `assay-load`; a test holds them to what its command line knows, and writes them.
pub(crate) const ASSAY_LOAD: &str = include_str!("../data/assay-load-options.txt");

/// The options of stressapptest.
pub(crate) const STRESSAPPTEST: &str = include_str!("../data/stressapptest-options.txt");

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OptionLine {
    /// Without its dashes.
    pub(crate) name: &'static str,
    /// Whether a value stands behind it.
    pub(crate) takes_value: bool,
}

/// The options of one kind in a list.
pub(crate) fn options(
    list: &'static str,
    kind: &'static str,
) -> impl Iterator<Item = OptionLine> + 'static {
    list.lines().filter(|line| !line.starts_with('#')).filter_map(move |line| {
        let mut words = line.split_whitespace();
        (words.next()? == kind).then_some(())?;
        Some(OptionLine { name: words.next()?, takes_value: words.next()? == "value" })
    })
}

/// One option of a kind.
pub(crate) fn option(list: &'static str, kind: &'static str, name: &str) -> Option<OptionLine> {
    options(list, kind).find(|line| line.name == name)
}

/// An option as it stands on a command line: one letter has one dash.
pub(crate) fn spelt(name: &str) -> String {
    if name.chars().count() == 1 { format!("-{name}") } else { format!("--{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_options_of_their_kinds_only() {
        assert_eq!(
            option(ASSAY_LOAD, "graph500", "scale").map(|line| line.takes_value),
            Some(true)
        );
        assert_eq!(
            option(ASSAY_LOAD, "graph500", "sssp").map(|line| line.takes_value),
            Some(false)
        );
        assert_eq!(option(ASSAY_LOAD, "spin", "scale"), None);
        assert!(option(STRESSAPPTEST, "stressapptest", "local_numa").is_some());
    }

    #[test]
    fn one_letter_has_one_dash() {
        assert_eq!(spelt("s"), "-s");
        assert_eq!(spelt("scale"), "--scale");
    }
}
