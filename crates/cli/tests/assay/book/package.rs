//! The package: built from the test binaries, installed in a clean root, run there, removed.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_test_support::{is_quick, skip};

use crate::book::extract::root;
use crate::book::program::assay_load;

/// Exit code of `scripts/package-check` if no clean root is available.
const UNABLE: i32 = 77;

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Builds the package from the programs that were built for the tests, or returns why it cannot.
fn package(out: &Path) -> Result<String, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let Some(load) = assay_load() else {
        return Err("assay-load was not built: cd loadgen && cargo build".to_owned());
    };
    if let Some(missing) = ["dpkg-deb", "readelf"].into_iter().find(|name| !has(name)) {
        return Err(format!("no {missing}"));
    }
    let output = Command::new(root().join("scripts/package"))
        .arg("--binaries")
        .arg(program.parent().unwrap())
        .arg("--out")
        .arg(out)
        // Compression does not change the contents.
        .envs([("DPKG_DEB_COMPRESSOR_TYPE", "gzip"), ("DPKG_DEB_COMPRESSOR_LEVEL", "1")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && load.is_file(), "{text}");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn the_package_installs_runs_and_is_removed_completely() {
    let test = "the package in a clean root";
    if is_quick(test) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let package = match package(place.path()) {
        Ok(package) => package,
        Err(why) => return skip(test, &why),
    };
    let again = tempfile::tempdir().unwrap();
    let same = self::package(again.path()).unwrap();
    assert_eq!(
        fs::read(&package).unwrap(),
        fs::read(same).unwrap(),
        "the same files give another package"
    );
    let listed = Command::new("dpkg-deb").args(["--contents", &package]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for file in [
        "./usr/bin/assay",
        "./usr/bin/assay-load",
        "./usr/share/man/man1/assay-run.1.gz",
        "./usr/share/man/man1/assay-load.1.gz",
        "./usr/share/bash-completion/completions/assay",
        "./usr/share/doc/assay/docs/guide/first-study.md",
        "./usr/share/doc/assay/examples/studies/io-weight.toml",
    ] {
        assert!(listed.lines().any(|line| line.ends_with(file)), "no {file} in:\n{listed}");
    }
    assert!(listed.lines().all(|line| line.contains("root/root")), "{listed}");
    let checked =
        Command::new(root().join("scripts/package-check")).arg(&package).output().unwrap();
    let text = String::from_utf8_lossy(&checked.stdout).into_owned()
        + &String::from_utf8_lossy(&checked.stderr);
    if checked.status.code() == Some(UNABLE) {
        return skip(test, text.lines().last().unwrap_or("no clean root"));
    }
    assert!(checked.status.success(), "{text}");
    assert!(text.contains("ok: assay check io-weight"), "{text}");
}

#[test]
fn every_generator_is_on_the_page_of_assay_load() {
    let page = fs::read_to_string(root().join("packaging/assay-load.1")).unwrap();
    let registry = fs::read_to_string(root().join("docs/load/README.md")).unwrap();
    let rows = registry.lines().filter(|line| line.starts_with("| ["));
    let mut checked = 0;
    for name in rows.filter_map(|line| line.split(['[', ']']).nth(1)) {
        assert!(page.contains(&format!("\\fB{name}\\fR")), "packaging/assay-load.1 lacks {name}");
        checked += 1;
    }
    assert!(checked >= 12);
}
