//! Run-time placeholders in command lines, such as `{directory}`.

/// The names of all placeholders.
pub const PLACEHOLDERS: &[&str] = &["directory", "device", "cpus", "study"];

/// The values of placeholders for one workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placeholders {
    /// Its own directory on its disk, empty at the start of each repeat.
    pub directory: Option<String>,
    /// The block device of its disk.
    pub device: Option<String>,
    /// The CPUs that its group may use, as a list.
    pub cpus: Option<String>,
}

impl Placeholders {
    /// Replaces every placeholder that has a value. Others stay; the plan has refused them.
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

/// Whether a text contains this placeholder.
#[must_use]
pub fn has_placeholder(text: &str, name: &str) -> bool {
    text.contains(&format!("{{{name}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_placeholders_with_a_value_are_replaced() {
        let placeholders =
            Placeholders { directory: Some("/mnt/a".to_owned()), ..Placeholders::default() };
        assert_eq!(placeholders.fill("dir={directory},on={device}"), "dir=/mnt/a,on={device}");
        assert!(has_placeholder("dir={directory}", "directory"));
        assert!(!has_placeholder("directory", "directory"));
    }
}
