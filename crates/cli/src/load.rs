//! From a name on the command line to a study without mistakes.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use assay_diagnostic::{Diagnostic, Severity, closest, render, to_json};
use assay_files::input_text;
use assay_study::{
    Scalar, Study, WarmUp, choose_disk, choose_scheduler, parse, parse_scalar, set_factors,
    shipped, shipped_file,
};

use crate::args::StudyArguments;
use crate::exit::Code;
use crate::output;

/// Bytes of a study, of what stands beside it, and of documents that people name.
pub(crate) const MOST_TEXT: u64 = 64 << 20;

/// A study and where it came from.
pub(crate) struct Loaded {
    pub(crate) study: Study,
    pub(crate) text: String,
    /// Files that the study names, by the names it uses, with their texts; none for a shipped one.
    pub(crate) beside: Vec<(String, String)>,
}

/// A study's text and its surroundings.
struct Source {
    name: String,
    shown_as: String,
    text: String,
    /// Where files that it names are looked for; shipped studies have theirs embedded.
    folder: Option<PathBuf>,
}

/// Finds, reads and checks a study, and applies the changes of the command line. Mistakes are
/// printed, all of them; `as_json` prints them to stdout for programs.
pub(crate) fn load(arguments: &StudyArguments, as_json: bool) -> Result<Loaded, Code> {
    let source = find(&arguments.study)?;
    let read = RefCell::new(Vec::new());
    let beside = |path: &str| {
        let text = read_beside(&source, path)?;
        if source.folder.is_some() {
            read.borrow_mut().push((path.to_owned(), text.clone()));
        }
        Ok(text)
    };
    let (study, mut findings) = parse(&source.name, &source.text, &beside);
    let study = study.map(|study| Study { folder: folder(&source), ..study });
    let study = study.and_then(|mut study| match change(&mut study, arguments) {
        Ok(()) => Some(study),
        Err(more) => {
            findings.extend(more);
            None
        }
    });
    show(&source, &findings, as_json && study.is_none());
    match study {
        Some(study) => Ok(Loaded { study, text: source.text, beside: read.into_inner() }),
        None => {
            let count =
                findings.iter().filter(|finding| finding.severity == Severity::Error).count();
            let mistakes =
                if count == 1 { "1 mistake".to_owned() } else { format!("{count} mistakes") };
            output::say(&format!("{} has {mistakes}; nothing was touched", source.shown_as));
            Err(Code::Usage)
        }
    }
}

/// A recorded study with the changes that the command line of its run made: its text as it was then,
/// whatever became of the file.
pub(crate) fn reload(name: &str, text: &str, arguments: &StudyArguments) -> Result<Study, Code> {
    let path = Path::new(&arguments.study);
    let source = Source {
        name: name.to_owned(),
        shown_as: format!("the recorded study {name}"),
        text: text.to_owned(),
        folder: path.is_file().then(|| path.parent().unwrap_or(Path::new("")).to_owned()),
    };
    let (study, mut findings) = parse(name, text, &|path| read_beside(&source, path));
    if let Some(mut study) = study {
        match change(&mut study, arguments) {
            Ok(()) => return Ok(study),
            Err(more) => findings.extend(more),
        }
    }
    show(&source, &findings, false);
    output::say("the recorded study cannot be planned again; nothing was touched");
    Err(Code::Usage)
}

fn show(source: &Source, findings: &[Diagnostic], as_json: bool) {
    if as_json {
        output::data(&to_json(findings, &source.shown_as, &source.text).to_string());
    } else if !findings.is_empty() {
        output::say_painted(|color| render(findings, &source.shown_as, &source.text, color));
    }
}

/// A name without a slash and without `.toml` is that of a shipped study.
fn find(wanted: &str) -> Result<Source, Code> {
    let path = Path::new(wanted);
    let is_name = !wanted.contains('/') && path.extension().is_none_or(|found| found != "toml");
    if is_name && !path.is_file() {
        return find_shipped(wanted);
    }
    let text = input_text(path, MOST_TEXT).map_err(|error| {
        let cause = error.cause;
        output::error(&format!(
            "cannot read {wanted}: {cause}\n  hint: name a study file, or one of `assay studies`"
        ));
        Code::Usage
    })?;
    Ok(Source {
        name: path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
        shown_as: wanted.to_owned(),
        text,
        folder: Some(path.parent().unwrap_or(Path::new("")).to_owned()),
    })
}

fn find_shipped(wanted: &str) -> Result<Source, Code> {
    if let Some(found) = shipped().iter().find(|study| study.name == wanted) {
        return Ok(Source {
            name: found.name.to_owned(),
            shown_as: format!("{wanted} (shipped)"),
            text: found.text.to_owned(),
            folder: None,
        });
    }
    let hint = closest(wanted, shipped().iter().map(|study| study.name)).map_or_else(
        || "`assay studies` lists them; a file is named with its path or `.toml`".to_owned(),
        |name| format!("did you mean `{name}`?"),
    );
    output::error(&format!("no shipped study is called `{wanted}`\n  hint: {hint}"));
    Err(Code::Usage)
}

fn read_beside(source: &Source, path: &str) -> Result<String, String> {
    match &source.folder {
        None => shipped_file(path),
        Some(folder) => {
            let path = folder.join(path);
            input_text(&path, MOST_TEXT)
                .map_err(|error| format!("{}: {}", path.display(), error.cause))
        }
    }
}

/// The whole path of the folder of a study file.
fn folder(source: &Source) -> Option<String> {
    let folder = source.folder.as_ref()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Some(folder.canonicalize().ok()?.display().to_string())
}

/// Applies `--set`, `--repeats` and `--at-most`.
fn change(study: &mut Study, arguments: &StudyArguments) -> Result<(), Vec<Diagnostic>> {
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
    let mut chosen = |result: Result<(), String>, option: &str| {
        if let Err(why) = result {
            let hint = format!("leave `{option}` out, or change the study file");
            findings.push(Diagnostic::error("A0003", format!("{option}: {why}")).hint(hint));
        }
    };
    if let Some(disk) = &arguments.disk {
        chosen(choose_disk(study, disk), "--disk");
    }
    if let Some(scheduler) = &arguments.scheduler {
        chosen(choose_scheduler(study, scheduler), "--scheduler");
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
            "a warm-up of {} leaves nothing of {}",
            assay_units::format_duration(warm_up),
            assay_units::format_duration(study.design.at_most)
        );
        findings.push(Diagnostic::error("A0002", message).hint("give `--at-most` a longer time"));
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}
