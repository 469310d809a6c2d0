//! Completions, as shells ask for them.

use std::fs;
use std::process::Command;

use assay_test_support::skip;

use crate::book::program::assay;

/// Shells that answer without a terminal, and how they are asked for the last word.
const SHELLS: [(&str, &[&str]); 2] = [
    (
        "bash",
        &[
            "--norc",
            "-c",
            "source ./script; COMP_WORDS=(assay $1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
             _assay assay \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"",
            "bash",
        ],
    ),
    ("fish", &["--no-config", "-c", "source ./script; complete -C \"assay $argv[1]\""]),
];

#[test]
fn shells_complete_commands_options_and_their_values() {
    for (shell, words) in SHELLS {
        if Command::new(shell).arg("--version").output().is_err() {
            skip(&format!("completions in {shell}"), &format!("no {shell}"));
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let script = assay(folder.path(), ["generate", "completions", shell]).stdout;
        fs::write(folder.path().join("script"), script).unwrap();
        for (line, expected) in [
            ("che", "check"),
            ("lab ex", "exec"),
            ("check --expl", "--explain-steps"),
            ("top --sort mem", "memory"),
        ] {
            let mut command = Command::new(shell);
            command.args(words).arg(line).current_dir(folder.path()).env("HOME", folder.path());
            let output = command.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let offered: Vec<&str> =
                text.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
            assert!(offered.contains(&expected), "{shell} {line}: {text} {output:?}");
        }
    }
}
