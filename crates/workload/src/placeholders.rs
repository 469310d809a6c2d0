//! What only the run knows, as words of a command line name it: `{directory}` and its like.

/// The names that stand for what the plan gave.
pub const GIVEN: &[&str] = &["directory", "device", "cpus", "study"];

/// What a workload was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placeholders {
    /// A directory of its own on its disk, empty at the start of each repeat.
    pub directory: Option<String>,
    /// The block device of its disk.
    pub device: Option<String>,
    /// The CPUs that its group may use, as a list.
    pub cpus: Option<String>,
}

impl Placeholders {
    /// The text with every name that was given replaced. What was not given stays as it is: the
    /// plan has refused it.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        let known =
            [("{directory}", &self.directory), ("{device}", &self.device), ("{cpus}", &self.cpus)];
        known.iter().fold(text.to_owned(), |text, (name, value)| match value {
            Some(value) => text.replace(name, value),
            None => text,
        })
    }
}

/// Whether a text names this.
#[must_use]
pub fn names_given(text: &str, name: &str) -> bool {
    text.contains(&format!("{{{name}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_is_filled_in() {
        let given =
            Placeholders { directory: Some("/mnt/a".to_owned()), ..Placeholders::default() };
        assert_eq!(given.fill("dir={directory},on={device}"), "dir=/mnt/a,on={device}");
        assert!(names_given("dir={directory}", "directory"));
        assert!(!names_given("directory", "directory"));
    }
}
