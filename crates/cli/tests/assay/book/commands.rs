//! Checks every command line in the docs, in the way that a table gives.

use std::fs;
use std::path::Path;

use assay_test_support::skip;

use crate::book::extract::{CommandLine, blocks, command_lines};
use crate::book::program::{Ended, assay, assay_load, run};

/// How a command line is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Run unchanged; it must end with one of these codes.
    Run(&'static [i32]),
    /// Run with `--dry-run`: study, factors and options must fit, and the plan must be made. The
    /// host may be unable to do it.
    Plan,
    /// Run with `--predict`: its arguments must be right.
    Predict,
    /// Run with `--help` appended, so that the program parses everything before it: commands, options and
    /// their values must be valid.
    Parse,
}

/// The longest matching prefix of a command line decides how it is checked.
const TABLE: &[(&str, Way, &str)] = &[
    ("assay run --list", Way::Run(&[0]), "touches nothing"),
    ("assay check", Way::Run(&[0, 4]), "touches nothing"),
    ("assay host", Way::Run(&[0]), "touches nothing"),
    ("assay generate schema", Way::Run(&[0]), "touches nothing"),
    ("assay generate completions", Way::Run(&[0]), "touches nothing"),
    ("assay generate man", Way::Run(&[0]), "writes into the folder of the test"),
    ("assay conform --list", Way::Run(&[0]), "touches nothing"),
    ("assay run", Way::Plan, "needs root and minutes; tests/assay runs studies"),
    ("assay explain", Way::Run(&[0]), "touches nothing"),
    ("assay", Way::Parse, "needs root, minutes, or what its reader has; tests/assay run it"),
    ("assay-load filebench", Way::Parse, "names scripts and folders of its reader"),
    ("assay-load ycsb", Way::Parse, "names folders of its reader"),
    ("assay-load streamcluster", Way::Parse, "names files of its reader"),
    ("assay-load blackscholes", Way::Parse, "names files of its reader"),
    ("assay-load pages", Way::Parse, "names folders of its reader"),
    ("assay-load build", Way::Parse, "names folders of its reader"),
    ("assay-load", Way::Predict, "allocates nothing"),
];

fn rule(words: &[String]) -> Option<&'static (&'static str, Way, &'static str)> {
    let begins = |prefix: &str| {
        let mut own = words.iter();
        prefix.split(' ').all(|word| own.next().is_some_and(|own| own == word))
    };
    TABLE.iter().filter(|(prefix, ..)| begins(prefix)).max_by_key(|(prefix, ..)| prefix.len())
}

/// Words without placeholders of optional arguments (`[CTRL]`), and with a study for STUDY.
fn arguments(line: &CommandLine) -> Vec<String> {
    let words = line.words[1..].iter().filter(|word| !word.starts_with('['));
    words.map(|word| if word == "STUDY" { "io-weight".to_owned() } else { word.clone() }).collect()
}

/// Adds an option before `--`, where another command begins, unless it is already present.
fn with(mut words: Vec<String>, option: &str) -> Vec<String> {
    if words.iter().any(|word| word == option) {
        return words;
    }
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.insert(at, option.to_owned());
    words
}

/// The error of a command line, if any.
fn check(line: &CommandLine, way: Way, folder: &Path) -> Option<String> {
    let is_load = line.words[0] == "assay-load";
    let carry_out = |words: Vec<String>| -> Ended {
        match assay_load().filter(|_| is_load) {
            Some(program) => run(&program, folder, words),
            None => assay(folder, words),
        }
    };
    let (words, codes): (_, &[i32]) = match way {
        Way::Run(codes) => (arguments(line), codes),
        Way::Plan => (with(arguments(line), "--dry-run"), &[0, 4]),
        Way::Predict => (with(arguments(line), "--predict"), &[0, 4]),
        Way::Parse => (with(arguments(line), "--help"), &[0]),
    };
    let ended = carry_out(words);
    let as_it_should = ended.code.is_some_and(|code| codes.contains(&code));
    (!as_it_should).then(|| format!("{:?}: {}{}", ended.code, ended.stderr, ended.stdout))
}

/// A folder with the files that the docs name.
fn folder_of_a_reader() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let page = "docs/guide/own-study.md";
    let blocks = blocks();
    let study = blocks.iter().find(|block| block.page == page && block.text.contains("title "));
    fs::write(folder.path().join("mine.toml"), &study.unwrap().text).unwrap();
    let job = |name: &str, weight: u32| {
        format!("[{name}]\nrw=read\nsize=64M\ncgroup={name}\ncgroup_weight={weight}\n")
    };
    let jobs = [job("a", 100), job("b", 300), job("c", 500)].concat();
    fs::write(folder.path().join("mine.fio"), jobs).unwrap();
    for name in ["a", "b"] {
        fs::write(folder.path().join(name).with_extension("fio"), job(name, 100)).unwrap();
    }
    let mut rates = String::from("group,time,amount\n");
    for second in 1..=60 {
        for (group, amount) in [("a", 10), ("b", 20), ("c", 40)] {
            rates.push_str(&format!("{group},{second},{}\n", amount + second % 3));
        }
    }
    fs::write(folder.path().join("rates.csv"), rates).unwrap();
    folder
}

#[test]
fn every_command_line_of_the_docs_is_valid() {
    let folder = folder_of_a_reader();
    let lines = command_lines();
    assert!(lines.len() > 80, "only {} command lines were found", lines.len());
    let mut wrong = Vec::new();
    let mut unbuilt = 0;
    for line in &lines {
        let text = line.words.join(" ");
        let Some((_, way, why)) = rule(&line.words) else {
            wrong.push(format!(
                "{}: `{text}`: no row of the table says how to check it",
                line.place
            ));
            continue;
        };
        if line.words[0] == "assay-load" && assay_load().is_none() {
            unbuilt += 1;
            continue;
        }
        println!("{} {way:?} ({why}): {text}", line.place);
        if let Some(what) = check(line, *way, folder.path()) {
            wrong.push(format!("{}: `{text}` ({way:?}): {what}", line.place));
        }
    }
    if unbuilt > 0 {
        let why = format!("{unbuilt} lines: assay-load was not built: cd loadgen && cargo build");
        skip("command lines of assay-load in the docs", &why);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unknown_commands_and_options_are_detected() {
    let folder = folder_of_a_reader();
    let fails = |text: &str, way: Way| {
        let words = text.split(' ').map(str::to_owned).collect();
        check(&CommandLine { place: String::new(), words }, way, folder.path()).is_some()
    };
    assert!(fails("assay exec --bogus -- true", Way::Parse));
    assert!(fails("assay exec --leftover eat -- true", Way::Parse));
    assert!(fails("assay lab rnu io-weight", Way::Parse));
    assert!(fails("assay run io-weight --set gruops=4", Way::Plan));
    assert!(fails("assay check io-weight --duration 20", Way::Run(&[0, 4])));
    assert!(!fails("assay run io-weight --set groups=4", Way::Plan));
    assert!(fails("assay bogus", Way::Parse));
}

/// Commands that pages name in running text: `assay COMMAND --option`.
#[test]
fn commands_and_options_in_running_text_exist() {
    let folder = tempfile::tempdir().unwrap();
    let mut helps = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for path in crate::book::extract::pages() {
        let text = fs::read_to_string(&path).unwrap();
        for span in text.split('`').skip(1).step_by(2) {
            let Some(rest) = span.strip_prefix("assay ") else { continue };
            let mut words = rest.split(' ');
            let Some(command) = words.next().filter(|word| is_command_word(word)) else { continue };
            let help = helps.entry(command.to_owned()).or_insert_with(|| {
                let ended = assay(folder.path(), [command, "--help"]);
                (ended.code == Some(0)).then_some(ended.stdout)
            });
            checked += 1;
            match help {
                None => wrong.push(format!("{}: `{span}`: no such command", path.display())),
                // Their commands have options of their own, and those of the lab pass others on.
                Some(_) if ["fleet", "lab"].contains(&command) => {}
                Some(help) => {
                    let own = rest.split(" -- ").next().unwrap_or(rest);
                    for option in own
                        .split([' ', '=', '|', '[', ']'])
                        .filter(|word| word.starts_with("--") && word.len() > 2)
                    {
                        if !help.contains(option) {
                            wrong.push(format!("{}: `{span}`: no `{option}`", path.display()));
                        }
                    }
                }
            }
        }
    }
    assert!(checked > 100, "only {checked} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `assay COMMAND` and `assay ...` stand for others.
fn is_command_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|sign| sign.is_ascii_lowercase())
}
