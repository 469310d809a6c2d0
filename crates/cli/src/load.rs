//! Loads and checks the study named on the command line.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use assay_diagnostic::{Diagnostic, Severity, closest, render, to_json};
use assay_files::input_text;
use assay_study::{
    Scalar, Study, WarmUp, override_disk, override_scheduler, parse, parse_scalar, set_factors,
    shipped, shipped_file,
};

use crate::args::StudyArguments;
use crate::exit::Code;
use crate::output;

/// The largest size of a study, of the files it names, and of documents named by users, in bytes.
pub(crate) const MOST_TEXT: u64 = 64 << 20;

/// A study, its text and the files it names.
pub(crate) struct Loaded {
    pub(crate) study: Study,
    pub(crate) text: String,
    /// Names and texts of the files that the study names; empty for a shipped study.
    pub(crate) named_files: Vec<(String, String)>,
}

/// A study's text and origin.
struct Source {
    name: String,
    shown_as: String,
    text: String,
    /// The folder for files that the study names; shipped studies have theirs embedded.
    folder: Option<PathBuf>,
}

/// Finds, reads and checks a study, and applies the overrides of the command line. All mistakes are
/// printed; with `as_json` to stdout.
pub(crate) fn load(arguments: &StudyArguments, as_json: bool) -> Result<Loaded, Code> {
    let source = find(&arguments.study)?;
    let read = RefCell::new(Vec::new());
    let read_named = |path: &str| {
        let text = read_named_file(&source, path)?;
        if source.folder.is_some() {
            read.borrow_mut().push((path.to_owned(), text.clone()));
        }
        Ok(text)
    };
    let (study, mut findings) = parse(&source.name, &source.text, &read_named);
    let study = study.map(|study| Study { folder: folder(&source), ..study });
    let study = study.and_then(|mut study| match apply_overrides(&mut study, arguments) {
        Ok(()) => Some(study),
        Err(more) => {
            findings.extend(more);
            None
        }
    });
    show(&source, &findings, as_json && study.is_none());
    match study {
        Some(study) => Ok(Loaded { study, text: source.text, named_files: read.into_inner() }),
        None => {
            let count =
                findings.iter().filter(|finding| finding.severity == Severity::Error).count();
            let mistakes =
                if count == 1 { "1 mistake".to_owned() } else { format!("{count} mistakes") };
            output::message(&format!("{} has {mistakes}; nothing was touched", source.shown_as));
            Err(Code::Usage)
        }
    }
}

/// Parses a recorded study with the overrides of its run's command line. The recorded text is used, not
/// the current file.
pub(crate) fn reload(name: &str, text: &str, arguments: &StudyArguments) -> Result<Study, Code> {
    let path = Path::new(&arguments.study);
    let source = Source {
        name: name.to_owned(),
        shown_as: format!("the recorded study {name}"),
        text: text.to_owned(),
        folder: path.is_file().then(|| path.parent().unwrap_or(Path::new("")).to_owned()),
    };
    let (study, mut findings) = parse(name, text, &|path| read_named_file(&source, path));
    if let Some(mut study) = study {
        match apply_overrides(&mut study, arguments) {
            Ok(()) => return Ok(study),
            Err(more) => findings.extend(more),
        }
    }
    show(&source, &findings, false);
    output::message("the recorded study cannot be planned again; nothing was touched");
    Err(Code::Usage)
}

fn show(source: &Source, findings: &[Diagnostic], as_json: bool) {
    if as_json {
        output::data(&to_json(findings, &source.shown_as, &source.text).to_string());
    } else if !findings.is_empty() {
        output::message_painted(|color| render(findings, &source.shown_as, &source.text, color));
    }
}

/// Finds a study. A name without a slash and without `.toml` means a shipped study.
fn find(name: &str) -> Result<Source, Code> {
    let path = Path::new(name);
    let is_bare = !name.contains('/') && path.extension().is_none_or(|suffix| suffix != "toml");
    if is_bare && !path.is_file() {
        return find_shipped(name);
    }
    let text = input_text(path, MOST_TEXT).map_err(|error| {
        let cause = error.cause;
        output::error(&format!(
            "cannot read {name}: {cause}\n  hint: name a study file, or one of `assay studies`"
        ));
        Code::Usage
    })?;
    Ok(Source {
        name: path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
        shown_as: name.to_owned(),
        text,
        folder: Some(path.parent().unwrap_or(Path::new("")).to_owned()),
    })
}

fn find_shipped(name: &str) -> Result<Source, Code> {
    if let Some(study) = shipped().iter().find(|study| study.name == name) {
        return Ok(Source {
            name: study.name.to_owned(),
            shown_as: format!("{name} (shipped)"),
            text: study.text.to_owned(),
            folder: None,
        });
    }
    let hint = closest(name, shipped().iter().map(|study| study.name)).map_or_else(
        || "`assay studies` lists them; for a file give its path or `.toml`".to_owned(),
        |similar| format!("did you mean `{similar}`?"),
    );
    output::error(&format!("no shipped study is called `{name}`\n  hint: {hint}"));
    Err(Code::Usage)
}

fn read_named_file(source: &Source, path: &str) -> Result<String, String> {
    match &source.folder {
        None => shipped_file(path),
        Some(folder) => {
            let path = folder.join(path);
            input_text(&path, MOST_TEXT)
                .map_err(|error| format!("{}: {}", path.display(), error.cause))
        }
    }
}

/// The absolute path of a study file's folder.
fn folder(source: &Source) -> Option<String> {
    let folder = source.folder.as_ref()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Some(folder.canonicalize().ok()?.display().to_string())
}

/// Applies the overrides of the command line to a study.
fn apply_overrides(study: &mut Study, arguments: &StudyArguments) -> Result<(), Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let mut factors = Vec::new();
    for setting in &arguments.set {
        let Some((name, values)) = setting.split_once('=') else {
            let message = format!("`--set {setting}` has no `=`");
            findings.push(Diagnostic::error("A0001", message).hint("write `--set FACTOR=VALUE`"));
            continue;
        };
        let values: Vec<Scalar> = values.split(',').map(parse_scalar).collect();
        factors.push((name.trim().to_owned(), values));
    }
    if let Err(more) = set_factors(study, factors) {
        findings.extend(more);
    }
    let mut check = |result: Result<(), String>, option: &str| {
        if let Err(why) = result {
            let hint = format!("leave `{option}` out, or change the study file");
            findings.push(Diagnostic::error("A0003", format!("{option}: {why}")).hint(hint));
        }
    };
    if let Some(disk) = &arguments.disk {
        check(override_disk(study, disk), "--disk");
    }
    if let Some(scheduler) = &arguments.scheduler {
        check(override_scheduler(study, scheduler), "--scheduler");
    }
    if let Some(repeats) = arguments.repeats {
        study.design.repeats = repeats;
    }
    if let Some(stop) = arguments.stop {
        study.design.stop = stop;
    }
    if let Some(at_most) = arguments.at_most {
        study.design.at_most = at_most;
    }
    if let WarmUp::Fixed(warm_up) = study.design.warm_up
        && warm_up >= study.design.at_most
    {
        let message = format!(
            "a warm-up of {} leaves nothing of a repeat of {}",
            assay_units::format_duration(warm_up),
            assay_units::format_duration(study.design.at_most)
        );
        findings.push(Diagnostic::error("A0002", message).hint("give `--at-most` a longer time"));
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}
