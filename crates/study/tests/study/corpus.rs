//! Every file of `tests/valid` and `tests/invalid` must give exactly the codes that its first line
//! expects.

// Clippy does not recognize functions shared by tests as tests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assay_study::{
    Study, Tool, has_published, parse, parse_published, render, shipped, shipped_file,
};
use assay_sys::diagnostic::Diagnostic;

fn load(path: &str) -> Result<String, String> {
    match path {
        "job.fio" => Ok("[global]\nrw=read\n[task1]\nsize=1M\n".to_owned()),
        "empty.fio" => Ok("[global]\nrw=read\n".to_owned()),
        _ => Err("no such file".to_owned()),
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn corpus(name: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn read(text: &str) -> (Option<Study>, Vec<Diagnostic>) {
    parse("corpus", text, &load)
}

fn sorted(mut codes: Vec<String>) -> Vec<String> {
    codes.sort();
    codes
}

fn expected(text: &str) -> Vec<String> {
    let line = text.lines().next().unwrap().strip_prefix("# expect:").unwrap();
    sorted(line.split_whitespace().map(str::to_owned).collect())
}

fn reported(findings: &[Diagnostic]) -> Vec<String> {
    sorted(findings.iter().map(|finding| finding.code.to_owned()).collect())
}

/// Compares all files before failing, so that one run shows every difference.
fn differences(files: &[(String, String)], must_be_sound: bool) -> Vec<String> {
    let mut differences = vec![];
    for (name, text) in files {
        let (study, findings) = read(text);
        if reported(&findings) != expected(text) || study.is_some() != must_be_sound {
            differences.push(format!(
                "{name}: expected {:?}\n{}",
                expected(text),
                render(&findings, name, text, false)
            ));
        }
    }
    differences
}

#[test]
fn every_invalid_file_gives_exactly_its_codes() {
    let files = corpus("invalid");
    assert!(files.len() >= 30, "{}", files.len());
    let differences = differences(&files, false);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_valid_file_gives_a_study_and_exactly_its_warnings() {
    let files = corpus("valid");
    assert!(files.len() >= 8, "{}", files.len());
    let differences = differences(&files, true);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_finding_has_a_hint_and_a_labelled_location() {
    for (name, text) in corpus("invalid").into_iter().chain(corpus("valid")) {
        for finding in read(&text).1 {
            assert!(!finding.hints.is_empty(), "{name}: {finding:?}");
            let label = finding.labels.first();
            assert!(
                label.is_some_and(|label| !label.text.is_empty() && label.span.end <= text.len()),
                "{name}: {finding:?}"
            );
        }
    }
}

#[test]
fn shipped_studies_have_no_findings() {
    for study in shipped() {
        let (parsed, findings) = parse(study.name, study.text, &shipped_file);
        assert!(findings.is_empty(), "{}", render(&findings, study.name, study.text, false));
        assert_eq!(parsed.unwrap().name, study.name);
    }
}

#[test]
fn the_studies_of_documents_have_their_own_sizes_too() {
    let with_sizes: Vec<&str> = shipped()
        .iter()
        .filter(|study| has_published(study.text))
        .map(|study| {
            let (parsed, findings) = parse_published(study.name, study.text, &shipped_file);
            let shown = render(&findings, study.name, study.text, false);
            assert!(parsed.is_some() && findings.is_empty(), "{shown}");
            study.name
        })
        .collect();
    let expected = [
        "cache-drop",
        "cache-ladder",
        "io-weight",
        "io-weight-job",
        "io-weight-scaling",
        "io-weight-ycsb",
        "memory-limit",
        "page-cache",
        "numa-local-remote",
        "numa-placement",
        "smt",
        "writeback",
    ];
    assert_eq!(with_sizes, expected);
}

#[test]
fn tables_of_the_document_replace_keys_and_lists_as_a_whole() {
    let text = "title = \"t\"\n[factors]\nn = [1, 2]\nm = [3]\n[design]\nrepeats = 5\n[[groups]]\nname = \"g\"\n\
                count = \"{n}\"\nrun = \"w\"\n[disks.d]\nuse = \"loop\"\nsize = \"1 GiB\"\n[workloads.w]\nuse = \"fio\"\nargs = { rw = \"read\", bs = \"{m}k\" }\n\
                [published.factors]\nn = [128]\n[published.design]\nat_most = \"3 h\"\n\
                [published.workloads.w.args]\niodepth = 32\n";
    let study = |published: bool| {
        let read = if published { parse_published } else { parse };
        let (study, findings) = read("t", text, &|_| Err(String::new()));
        study.unwrap_or_else(|| panic!("{}", render(&findings, "t", text, false)))
    };
    let (plain, published) = (study(false), study(true));
    assert_eq!((plain.factors[0].values.len(), published.factors[0].values.len()), (2, 1));
    assert_eq!((published.design.repeats, published.design.at_most.as_secs()), (5, 10_800));
    assert_eq!(plain.design.at_most.as_secs(), 3);
    let Tool::Fio { args } = &published.workloads["w"].tool else { panic!() };
    assert_eq!(args.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().len(), 3);

    let wrong = format!("{text}depth = 1\n[published.design2]\nx = 1\n");
    let (study, findings) = parse("t", &wrong, &|_| Err(String::new()));
    assert!(study.is_none() && findings.iter().any(|one| one.message.contains("design2")));
    assert!(
        parse_published("t", text, &|_| Err(String::new())).1.iter().all(|one| one.code != "A0201")
    );
}

#[test]
fn rendered_diagnostics_match_their_snapshots() {
    for name in ["five-mistakes", "knob-with-a-table", "ladder-beyond-bfq-under-one-scheduler"] {
        let source = fs::read_to_string(folder("invalid").join(format!("{name}.toml"))).unwrap();
        let rendered = render(&read(&source).1, &format!("{name}.toml"), &source, false);
        let path = folder("invalid").join(format!("{name}.txt"));
        if std::env::var_os("ASSAY_BLESS").is_some() {
            fs::write(&path, &rendered).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), rendered, "{name}");
    }
}

fn codes_in(text: &str) -> BTreeSet<String> {
    text.match_indices("A0")
        .filter_map(|(at, _)| text.get(at..at + 5))
        .filter(|code| code[1..].bytes().all(|byte| byte.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_code_is_documented_and_in_the_corpus() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code = fs::read_to_string(manifest.join("src/code.rs")).unwrap();
    let page = fs::read_to_string(manifest.join("../../docs/reference/diagnostics.md")).unwrap();
    let headings: String =
        page.lines().filter(|line| line.starts_with("## A0")).collect::<Vec<_>>().join("\n");
    let all = codes_in(&code);
    assert!(all.len() > 40, "{all:?}");
    assert_eq!(all, codes_in(&headings), "code.rs and diagnostics.md differ");
    let provoked: BTreeSet<String> = corpus("invalid")
        .iter()
        .chain(&corpus("valid"))
        .flat_map(|(_, text)| expected(text))
        .collect();
    assert_eq!(all, provoked, "code.rs and the corpus differ");
}
