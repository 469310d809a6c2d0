//! Recorded runs with a fault each (`crates/test-support/faults`): the fault is named first on any
//! host.

use std::path::PathBuf;

use assay_cause::judge;
use assay_judge::verdict::Verdict;
use assay_record::run_folder::Run;

/// Study files and recordings of the same names.
fn faults() -> Vec<(String, Vec<String>, PathBuf)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../test-support/faults"));
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let named = text.lines().find_map(|line| line.strip_prefix("# named: ")).unwrap();
            let named = named.split_whitespace().map(str::to_owned).collect();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, named, path.with_extension(""))
        })
        .collect();
    found.sort();
    assert_eq!(found.len(), 10, "every fault has a study");
    found.retain(|(_, _, folder)| folder.is_dir());
    assert!(found.len() >= 7, "only {} faults were recorded", found.len());
    found
}

#[test]
fn the_fault_of_every_recorded_run_is_named_first() {
    for (name, named, folder) in faults() {
        let run = Run::load(&folder).unwrap();
        let judgement = judge(&run.manifest, &run.samples);
        let promise = &judgement.trials[0].promises[0];
        let first = promise.causes.first().map(|cause| cause.code.as_str());
        assert!(
            first.is_some_and(|code| named.iter().any(|named| named == code)),
            "{name}: {first:?} and not {named:?}: {}",
            promise.reason
        );
        // One start is a fact, and no verdict.
        assert!(matches!(promise.verdict, Verdict::Void | Verdict::Undecided), "{name}");
    }
}

/// Runs may be recorded again with a later version, as long as one of each released version is left.
#[test]
fn a_run_of_every_released_version_is_judged() {
    let runs = faults().into_iter().map(|(_, _, folder)| Run::load(&folder).unwrap().manifest);
    let recorded: Vec<String> = runs.map(|manifest| manifest.assay).collect();
    let released: Vec<&str> = include_str!("../../../../CHANGELOG.md")
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    assert!(!released.is_empty());
    for version in released {
        assert!(recorded.iter().any(|own| own == version), "no run of {version}: {recorded:?}");
    }
}

#[test]
fn the_recordings_are_small_and_name_no_machine() {
    for (name, _, folder) in faults() {
        let manifest = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
        assert!(manifest.contains("\"host_name\":\"recorded\""), "{name}");
        let mut bytes = manifest.len() as u64;
        for repeat in std::fs::read_dir(folder.join("samples")).unwrap() {
            for file in std::fs::read_dir(repeat.unwrap().path()).unwrap() {
                bytes += file.unwrap().metadata().unwrap().len();
            }
        }
        assert!(bytes < 100 << 10, "{name} has {bytes} bytes");
    }
}
