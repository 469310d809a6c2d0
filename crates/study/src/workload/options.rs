//! The options of tools as lists, so that checking a study file starts no tool.
//!
//! A line has the kind, the option without its dashes, and `value` or `flag`: `graph500 scale
//! value`. Lines that begin with `#` describe the origin of a list.

/// The options of `assay-load`; a test of the load generators compares them with its command line and writes them
/// (`loadgen/load/src/registry.rs`).
pub(crate) const ASSAY_LOAD: &str = include_str!("../../data/assay-load-options.txt");

/// The options of stressapptest.
pub(crate) const STRESSAPPTEST: &str = include_str!("../../data/stressapptest-options.txt");

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OptionLine {
    /// Without its dashes.
    pub(crate) name: &'static str,
    /// Whether it takes a value.
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

/// An option as written on a command line: one letter has one dash.
pub(crate) fn with_dashes(name: &str) -> String {
    if name.chars().count() == 1 { format!("-{name}") } else { format!("--{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_options_of_each_kind() {
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
        assert_eq!(with_dashes("s"), "-s");
        assert_eq!(with_dashes("scale"), "--scale");
    }
}
