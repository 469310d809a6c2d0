//! The studies embedded in the program, so that they are available on a bare host.

/// An embedded study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name: the file's stem.
    pub name: &'static str,
    /// The whole file.
    pub text: &'static str,
}

static STUDIES: &[Shipped] = &[
    Shipped { name: "cache-drop", text: include_str!("../../../studies/cache-drop.toml") },
    Shipped { name: "cache-ladder", text: include_str!("../../../studies/cache-ladder.toml") },
    Shipped { name: "cpu-quota", text: include_str!("../../../studies/cpu-quota.toml") },
    Shipped { name: "cpu-wait", text: include_str!("../../../studies/cpu-wait.toml") },
    Shipped { name: "cpu-weight", text: include_str!("../../../studies/cpu-weight.toml") },
    Shipped {
        name: "cpu-weight-scaling",
        text: include_str!("../../../studies/cpu-weight-scaling.toml"),
    },
    Shipped {
        name: "cpu-weight-threads",
        text: include_str!("../../../studies/cpu-weight-threads.toml"),
    },
    Shipped { name: "io-weight", text: include_str!("../../../studies/io-weight.toml") },
    Shipped { name: "io-weight-job", text: include_str!("../../../studies/io-weight-job.toml") },
    Shipped {
        name: "io-weight-requests",
        text: include_str!("../../../studies/io-weight-requests.toml"),
    },
    Shipped {
        name: "io-weight-scaling",
        text: include_str!("../../../studies/io-weight-scaling.toml"),
    },
    Shipped { name: "io-weight-ycsb", text: include_str!("../../../studies/io-weight-ycsb.toml") },
    Shipped { name: "memory-limit", text: include_str!("../../../studies/memory-limit.toml") },
    Shipped {
        name: "memory-protection",
        text: include_str!("../../../studies/memory-protection.toml"),
    },
    Shipped { name: "memory-swap", text: include_str!("../../../studies/memory-swap.toml") },
    Shipped { name: "page-cache", text: include_str!("../../../studies/page-cache.toml") },
    Shipped {
        name: "numa-local-remote",
        text: include_str!("../../../studies/numa-local-remote.toml"),
    },
    Shipped { name: "numa-misplaced", text: include_str!("../../../studies/numa-misplaced.toml") },
    Shipped { name: "numa-mix", text: include_str!("../../../studies/numa-mix.toml") },
    Shipped { name: "numa-placement", text: include_str!("../../../studies/numa-placement.toml") },
    Shipped { name: "smt", text: include_str!("../../../studies/smt.toml") },
    Shipped { name: "writeback", text: include_str!("../../../studies/writeback.toml") },
];

/// Files that shipped studies refer to, by their path relative to the study.
static FILES: &[(&str, &str)] =
    &[("io-weight-job.fio", include_str!("../../../studies/io-weight-job.fio"))];

/// All shipped studies.
#[must_use]
pub fn shipped() -> &'static [Shipped] {
    STUDIES
}

/// The text of a file that shipped studies refer to, as the `load` argument of
/// [`parse`](crate::parse()).
pub fn shipped_file(path: &str) -> Result<String, String> {
    FILES
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, text)| (*text).to_owned())
        .ok_or_else(|| format!("the program has no embedded file `{path}`"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let mut found = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let embedded = match name.strip_suffix(".toml") {
                Some(stem) => shipped().iter().any(|s| s.name == stem && s.text == text),
                None => shipped_file(&name) == Ok(text),
            };
            assert!(embedded, "{name} is missing in crates/study/src/shipped.rs");
            found += 1;
        }
        assert_eq!(found, shipped().len() + FILES.len());
    }

    #[test]
    fn an_unknown_file_is_named_in_the_error() {
        assert!(shipped_file("other.fio").unwrap_err().contains("other.fio"));
    }
}
