//! Completions, as each shell asks for them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use assay_test_support::skip;

use crate::book::program::assay;

/// Words of a command line, the last of which is completed, and a candidate that must be among the answers.
const ASKED: [(&[&str], &str); 12] = [
    (&["che"], "check"),
    (&["check", "io-wei"], "io-weight"),
    (&["check", "own.t"], "own.toml"),
    (&["check", "cpu-weight", "--set", "gro"], "groups="),
    (&["check", "cpu-weight", "--set", "threads="], "threads=2"),
    (&["check", "own.toml", "--set", "lo"], "load="),
    (&["check", "own.toml", "--set", "load=50,"], "load=50,100"),
    (&["exec", "--set", "memory.hi"], "memory.high="),
    (&["diagnose", "runs/a", "--only", "C-REQ"], "C-REQUEST-POOL"),
    (&["explain", "A-ANC"], "A-ANCESTOR"),
    (&["conform", "cpu/weights-div"], "cpu/weights-divide-a-saturated-cpu"),
    (&["judge", "runs/2026"], "runs/20260101T000000Z-a"),
];

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Names that must reach no command line and no terminal.
const HOSTILE: [&str; 4] = [
    "2026$(touch owned)",
    "2026`touch owned`",
    "2026\u{1b}]0;owned\u{7}",
    "2026\n2026;touch owned",
];

/// A folder with a study, runs, and what others put beside them.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let study = assay(folder.path(), ["run", "--list", "cpu-weight"]).stdout;
    let own = study
        .replace("[factors]\n", "[factors]\nload = [50, 100]\n")
        .replace("cpuload = 100", "cpuload = \"{load}\"");
    fs::write(folder.path().join("own.toml"), own).unwrap();
    let run = |name: &str| {
        let path = folder.path().join("runs").join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("manifest.json"), "{").unwrap();
    };
    run("20260101T000000Z-a");
    HOSTILE.into_iter().for_each(run);
    symlink("/etc", folder.path().join("runs/2026-link")).unwrap();
    fs::create_dir(folder.path().join("evil\n--erase=sda")).unwrap();
    folder
}

/// What a shell offers for the last of these words.
fn offered(shell: &str, folder: &Path, words: &[&str]) -> Vec<String> {
    let (last, before) = words.split_last().unwrap();
    let asking = match shell {
        // As bash itself calls a function: with words split at `=`.
        "bash" => {
            let mut split = vec!["assay".to_owned()];
            split.extend(before.iter().map(|word| (*word).to_owned()));
            let current = last.rsplit('=').next().unwrap().to_owned();
            if let Some((name, _)) = last.split_once('=') {
                split.extend([name.to_owned(), "=".to_owned()]);
            }
            split.push(current.clone());
            let (quoted, at) = (split.join("' '"), split.len() - 1);
            format!(
                "source ./script; COMP_WORDS=('{quoted}'); COMP_CWORD={at}; _assay assay '{current}' x; \
                 printf '%s\\n' \"${{COMPREPLY[@]}}\""
            )
        }
        "zsh" => format!(
            "compdef() {{ : }}; _describe() {{ local name=${{@[-1]}}; print -rl -- ${{(P)name}} }}; \
             source ./script; words=(assay '{}'); CURRENT=$#words; _clap_dynamic_completer_assay",
            words.join("' '")
        ),
        _ => format!("source ./script; complete -C \"assay {}\"", words.join(" ")),
    };
    let option = match shell {
        "bash" => "--norc",
        "zsh" => "-f",
        _ => "--no-config",
    };
    let programs = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    command.args([option, "-c", &asking]).current_dir(folder).env("PATH", path).env("HOME", folder);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains('\u{1b}'), "{shell} {words:?}: {text:?}");
    // Bash replaces what follows the last `=`.
    let kept = match last.rfind('=') {
        Some(at) if shell == "bash" => &last[..=at],
        _ => "",
    };
    let values = text.lines().map(|line| line.split(['\t', ':']).next().unwrap_or_default());
    values.map(|value| format!("{kept}{value}")).collect()
}

#[test]
fn shells_complete_names_of_studies_factors_knobs_causes_rules_cases_and_runs() {
    for shell in SHELLS {
        if Command::new(shell).arg("--version").output().is_err() {
            skip(&format!("completions in {shell}"), &format!("no {shell}"));
            continue;
        }
        let folder = folder();
        let script = assay(folder.path(), ["generate", "completions", shell]).stdout;
        fs::write(folder.path().join("script"), script).unwrap();
        for (words, expected) in ASKED {
            let offered = offered(shell, folder.path(), words);
            assert!(offered.iter().any(|one| one == expected), "{shell} {words:?}: {offered:?}");
        }
        let runs = offered(shell, folder.path(), &["judge", "runs/2026"]);
        let hostile = |name: &&String| name.contains("touch") || name.contains("link");
        if shell == "bash" {
            assert_eq!(runs.iter().find(hostile), None, "{runs:?}");
        }
        // As a study, and as a path that clap completes.
        for words in [&["check", "evil"][..], &["run", "cpu-weight", "--out", "evil"]] {
            let offered = offered(shell, folder.path(), words);
            assert!(offered.iter().all(|one| !one.contains("erase")), "{shell}: {offered:?}");
        }
        assert!(!folder.path().join("owned").exists());
    }
}

/// Whatever the words are, the program ends with an answer: no panic, and nothing on stderr that a prompt
/// would be overwritten with.
#[test]
fn odd_questions_have_an_answer() {
    let folder = folder();
    let asked: [(&str, &str, &[&str]); 7] = [
        ("bash", "0", &["assay"]),
        ("bash", "99", &["assay", "check"]),
        ("bash", "x", &["assay", "check", "\u{1b}"]),
        ("zsh", "2", &["assay", "check", "no/such/folder/"]),
        ("fish", "2", &["assay", "check", "own.toml", "--set", "="]),
        ("fish", "2", &["assay", "compare", "runs/\u{fffd}"]),
        ("csh", "1", &["assay", "x"]),
    ];
    for (shell, index, words) in asked {
        let output = Command::new(env!("CARGO_BIN_EXE_assay"))
            .arg("--")
            .args(words)
            .current_dir(folder.path())
            .env("ASSAY_COMPLETE", shell)
            .env("_CLAP_COMPLETE_INDEX", index)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!error.contains("panicked"), "{shell} {words:?}: {error}");
        assert!(output.status.code().is_some(), "{shell} {words:?}");
    }
}
