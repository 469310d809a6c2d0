//! Manual pages and completions: made by the program, complete, and understood by the tools that
//! read them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use assay_test_support::skip;

use crate::book::program::assay;

/// The pages in a new folder.
fn pages() -> (tempfile::TempDir, Vec<(String, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let ended = assay(folder.path(), ["man", "pages"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut pages: Vec<(String, String)> = fs::read_dir(folder.path().join("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (name(&path), fs::read_to_string(&path).unwrap()))
        .collect();
    pages.sort();
    (folder, pages)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn every_command_has_a_page_with_its_exit_codes() {
    let (_folder, pages) = pages();
    for name in ["assay.1", "assay-run.1", "assay-lab.1", "assay-lab-run.1", "assay-exec.1"] {
        assert!(pages.iter().any(|(own, _)| own == name), "no {name}");
    }
    for (name, text) in &pages {
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "FILES", "SEE ALSO"] {
            let found = [format!(".SH {section}\n"), format!(".SH \"{section}\"\n")];
            assert!(found.iter().any(|found| text.contains(found)), "{name} has no {section}");
        }
    }
    let run = &pages.iter().find(|(name, _)| name == "assay-run.1").unwrap().1;
    assert!(run.contains("\\fB130\\fR\ninterrupted"), "{run}");
    assert!(run.contains("\\-\\-at\\-most"), "{run}");
}

#[test]
fn man_understands_every_page() {
    let test = "manual pages are understood by man";
    if Command::new("man").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip(test, "no man (man-db)");
        return;
    }
    let (folder, pages) = pages();
    for (name, _) in &pages {
        let output = Command::new("man")
            .args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8"])
            .arg(folder.path().join("pages").join(name))
            .env("MANWIDTH", "80")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.trim().is_empty(), "{name}: {said}");
        assert!(!output.stdout.is_empty(), "{name}");
    }
}

#[test]
fn shells_understand_their_completions() {
    for (shell, needle) in [("bash", "_assay"), ("zsh", "#compdef assay"), ("fish", "complete")] {
        let folder = tempfile::tempdir().unwrap();
        let ended = assay(folder.path(), ["completions", shell]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(
            ended.stdout.contains(needle) && ended.stdout.contains("io-weight")
                || ended.stdout.contains("explain")
        );
        let path = folder.path().join("script");
        fs::write(&path, &ended.stdout).unwrap();
        let checked = Command::new(shell).arg("-n").arg(&path).output();
        match checked {
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{shell}: {said}");
            }
            Err(_) => skip(&format!("completions of {shell}"), &format!("no {shell}")),
        }
    }
}

#[test]
fn an_unknown_shell_is_refused_with_those_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let ended = assay(folder.path(), ["completions", "csh"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("bash") && ended.stderr.contains("fish"), "{}", ended.stderr);
}

#[test]
fn pages_that_cannot_be_written_say_where() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let ended = assay(folder.path(), ["man", "file/below"]);
    assert_eq!(ended.code, Some(4));
    assert!(
        ended.stderr.contains("file/below") && ended.stderr.contains("hint: "),
        "{}",
        ended.stderr
    );
}
