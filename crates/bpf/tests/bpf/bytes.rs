//! The committed objects are what clang 14 makes of their sources.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_test_support::skip;

#[test]
fn the_sources_give_the_committed_objects() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for needed in ["/usr/bin/clang-14", "/usr/bin/llvm-strip-14", "/usr/include/bpf/bpf_helpers.h"]
    {
        if !Path::new(needed).exists() {
            return skip("bytes of the eBPF objects", &format!("it needs {needed}"));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let script = here.join("../../scripts/bpf-objects");
    let status = Command::new(script).arg(folder.path()).status().unwrap();
    assert!(status.success());
    let objects: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(!objects.is_empty());
    for object in objects {
        let committed = fs::read(here.join("programs").join(object.file_name())).unwrap();
        let made = fs::read(object.path()).unwrap();
        assert!(made == committed, "{:?} is outdated: run scripts/bpf-objects", object.file_name());
    }
}
