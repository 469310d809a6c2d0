//! The studies embedded in the program, so that they are available on a bare host.

/// An embedded study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name: the file's stem.
    pub name: &'static str,
    /// The whole file.
    pub text: &'static str,
}

const fn study(name: &'static str, text: &'static str) -> Shipped {
    Shipped { name, text }
}

static STUDIES: &[Shipped] = &[
    study("cache-drop", include_str!("../../../studies/cache-drop.toml")),
    study("cache-ladder", include_str!("../../../studies/cache-ladder.toml")),
    study("cpu-quota", include_str!("../../../studies/cpu-quota.toml")),
    study("cpu-wait", include_str!("../../../studies/cpu-wait.toml")),
    study("cpu-weight", include_str!("../../../studies/cpu-weight.toml")),
    study("cpu-weight-scaling", include_str!("../../../studies/cpu-weight-scaling.toml")),
    study("cpu-weight-threads", include_str!("../../../studies/cpu-weight-threads.toml")),
    study("io-weight", include_str!("../../../studies/io-weight.toml")),
    study("io-weight-job", include_str!("../../../studies/io-weight-job.toml")),
    study("io-weight-requests", include_str!("../../../studies/io-weight-requests.toml")),
    study("io-weight-scaling", include_str!("../../../studies/io-weight-scaling.toml")),
    study("io-weight-ycsb", include_str!("../../../studies/io-weight-ycsb.toml")),
    study("memory-limit", include_str!("../../../studies/memory-limit.toml")),
    study("memory-protection", include_str!("../../../studies/memory-protection.toml")),
    study("memory-swap", include_str!("../../../studies/memory-swap.toml")),
    study("page-cache", include_str!("../../../studies/page-cache.toml")),
    study("numa-local-remote", include_str!("../../../studies/numa-local-remote.toml")),
    study("numa-misplaced", include_str!("../../../studies/numa-misplaced.toml")),
    study("numa-mix", include_str!("../../../studies/numa-mix.toml")),
    study("numa-placement", include_str!("../../../studies/numa-placement.toml")),
    study("smt", include_str!("../../../studies/smt.toml")),
    study("writeback", include_str!("../../../studies/writeback.toml")),
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
