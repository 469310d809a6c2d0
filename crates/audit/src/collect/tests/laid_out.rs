//! Hosts as texts: directories with their files, what an audit of them must find, and changes after which it must not. For tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Trees of rules, and what several of them begin with.
pub(super) const RULE_TREES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/collect/rule_trees");

/// A host, to be laid out as files.
#[derive(Debug, Clone, Default)]
pub(super) struct HostText {
    directories: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, String>,
    /// `CODE GROUP` of each finding.
    pub(super) expected: BTreeSet<String>,
    changes: Vec<(PathBuf, String)>,
}

impl HostText {
    /// Lines: `# a remark`, `! CODE GROUP` for a finding, `on NAME` for the files of `rule_trees/NAME`, `[/a/directory]`, `file = text`
    /// in the directory above, where `\n` ends a line and `\0` an argument, and `~ file = text` for what it says in a twin. A later text counts.
    pub(super) fn parse(text: &str) -> Self {
        let mut host = Self::default();
        let mut directory = PathBuf::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (line, is_change) =
                line.strip_prefix("~ ").map_or((line, false), |rest| (rest, true));
            if let Some(finding) = line.strip_prefix("! ") {
                host.expected.insert(finding.to_owned());
            } else if let Some(base) = line.strip_prefix("on ") {
                let base = fs::read_to_string(Path::new(RULE_TREES).join(base)).unwrap();
                host = Self { expected: host.expected, ..Self::parse(&base) };
            } else if let Some(path) =
                line.strip_prefix("[/").and_then(|rest| rest.strip_suffix(']'))
            {
                directory = PathBuf::from(path);
                host.directories.insert(directory.clone());
            } else if let Some((name, value)) = line.split_once(" =") {
                let value = value.trim_start().replace("\\n", "\n").replace("\\0", "\0");
                let text = format!("{value}\n").trim_start().to_owned();
                match is_change {
                    true => host.changes.push((directory.join(name), text)),
                    false => _ = host.files.insert(directory.join(name), text),
                }
            }
        }
        host
    }

    /// The same host once for each change, with that one made.
    pub(super) fn twins(&self) -> impl Iterator<Item = (&Path, Self)> {
        self.changes.iter().map(|(path, text)| {
            let mut twin = self.clone();
            let former = twin.files.insert(path.clone(), text.clone());
            assert_ne!(former.as_ref(), Some(text), "{} stays as it is", path.display());
            (path.as_path(), twin)
        })
    }

    /// Writes it below a folder.
    pub(super) fn lay_out(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in &self.directories {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        for (path, text) in &self.files {
            fs::write(folder.path().join(path), text).unwrap();
        }
        folder
    }
}
