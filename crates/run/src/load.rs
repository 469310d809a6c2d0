//! Finds, reads and checks studies.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use assay_judge::verdict::wording::count;
use assay_study::workload::fio::{with_includes, with_variables};
use assay_study::{
    MOST_BYTES, Study, has_published, job_file_study, parse, parse_published, shipped, shipped_file,
};
use assay_sys::closest;
use assay_sys::diagnostic::{Diagnostic, Severity};
use assay_sys::exit::{Code, Error, Findings};
use assay_sys::files::{MOST_TEXT, input_text};

use crate::overrides::StudyChoice;

/// A checked study.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The study with its overrides.
    pub study: Study,
    /// Its text, without them.
    pub text: String,
    /// Names and texts of the files that it names; empty for a shipped study.
    pub named_files: Vec<(String, String)>,
    /// How it was chosen; `None` for a study that this program derived from another.
    pub choice: Option<StudyChoice>,
    /// What the check remarked; no errors.
    pub findings: Findings,
}

impl Loaded {
    /// A study that this program derived from another, whose text is `text`.
    pub fn derived(study: Study, text: &str) -> Self {
        let text = text.to_owned();
        Self { study, text, named_files: Vec::new(), choice: None, findings: Findings::default() }
    }

    /// The seed of the choice.
    pub fn seed(&self) -> u64 {
        self.choice.as_ref().map_or(1, |choice| choice.seed)
    }
}

/// A study's text and origin.
struct Source {
    name: String,
    shown_as: String,
    text: String,
    /// The folder for files that the study names; shipped studies have theirs embedded.
    folder: Option<PathBuf>,
}

/// Finds, reads and checks a study, and applies its overrides.
///
/// # Errors
/// All mistakes together, in `findings`; a study that cannot be found or read.
pub fn load(choice: &StudyChoice) -> Result<Loaded, Error> {
    let source = find(choice)?;
    let read = RefCell::new(Vec::new());
    let read_named = |path: &str| {
        let text = read_named_file(&source, path)?;
        if source.folder.is_some() {
            read.borrow_mut().push((path.to_owned(), text.clone()));
        }
        Ok(text)
    };
    let (study, findings) = checked(&source, &read_named, choice);
    let findings = Findings::new(&source.shown_as, &source.text, findings);
    let Some(study) = study else {
        let errors = findings.findings.iter().filter(|one| one.severity == Severity::Error).count();
        let note =
            format!("{} has {}; nothing was touched", source.shown_as, count(errors, "mistake"));
        return Err(mistakes(findings, note));
    };
    let study = Study { folder: folder(&source), ..study };
    let named_files = read.into_inner();
    Ok(Loaded { study, text: source.text, named_files, choice: Some(choice.clone()), findings })
}

/// Checks a recorded study with the overrides of its run. The recorded text is used, not the current
/// file.
///
/// # Errors
/// All mistakes together, in `findings`.
pub fn reload(name: &str, text: &str, choice: &StudyChoice) -> Result<Study, Error> {
    let path = Path::new(&choice.study);
    let source = Source {
        name: name.to_owned(),
        shown_as: format!("the recorded study {name}"),
        text: text.to_owned(),
        folder: path.is_file().then(|| path.parent().unwrap_or(Path::new("")).to_owned()),
    };
    let read_named = |path: &str| read_named_file(&source, path);
    let (study, findings) = checked(&source, &read_named, choice);
    let note = "the recorded study cannot be planned again; nothing was touched";
    study.ok_or_else(|| {
        mistakes(Findings::new(&source.shown_as, &source.text, findings), note.to_owned())
    })
}

/// Parses a study and applies the overrides; no study if there are mistakes.
fn checked(
    source: &Source,
    read: &dyn Fn(&str) -> Result<String, String>,
    choice: &StudyChoice,
) -> (Option<Study>, Vec<Diagnostic>) {
    let (study, mut findings) = match choice.published {
        true if !has_published(&source.text) => (None, vec![no_document()]),
        true => parse_published(&source.name, &source.text, read),
        false => parse(&source.name, &source.text, read),
    };
    let study = study.and_then(|mut study| match choice.apply(&mut study) {
        Ok(()) => Some(study),
        Err(more) => {
            findings.extend(more);
            None
        }
    });
    (study, findings)
}

fn no_document() -> Diagnostic {
    let message =
        "--published: the study has no [published], the sizes of a document that it repeats";
    Diagnostic::error("A0003", message).hint("leave `--published` out")
}

fn mistakes(findings: Findings, note: String) -> Error {
    Error { findings: Some(Box::new(findings)), note: Some(note), ..Error::ended(Code::Usage) }
}

/// Finds a study. A name without a slash and without `.toml` or `.fio` means a shipped study.
fn find(choice: &StudyChoice) -> Result<Source, Error> {
    let name = choice.study.as_str();
    let path = Path::new(name);
    let suffix = path.extension();
    let is_job_file = suffix.is_some_and(|suffix| suffix == "fio");
    if choice.weights.is_some() && !is_job_file {
        let hint = "the weights of a study are among its `knobs`, or a factor for `--set`";
        return Err(Error::usage(format!("--weights is for a fio job file\n  hint: {hint}")));
    }
    if !choice.more_job_files.is_empty() && !is_job_file {
        let hint = "several job files are one study: `assay run a.fio b.fio --weights 1:3`";
        return Err(Error::usage(format!("{name} is the whole study\n  hint: {hint}")));
    }
    let is_bare = !name.contains('/') && suffix.is_none_or(|suffix| suffix != "toml");
    if is_bare && !is_job_file && !path.is_file() {
        return find_shipped(name);
    }
    let text = input_text(path, MOST_BYTES).map_err(|error| {
        let hint = file_beside(path)
            .unwrap_or_else(|| "name a study file, or one of `assay run --list`".to_owned());
        Error::usage(format!("cannot read {name}: {}\n  hint: {hint}", error.cause))
    })?;
    let (shown_as, text) = match is_job_file {
        true => {
            let files = job_files(path, &text, &choice.more_job_files)?;
            let study = job_file_study(&files, choice.weights.as_deref());
            let names = [name].into_iter().chain(choice.more_job_files.iter().map(String::as_str));
            let names = names.collect::<Vec<_>>().join(", ");
            (format!("the study of {names}"), study.map_err(Error::usage)?)
        }
        false => (name.to_owned(), text),
    };
    Ok(Source {
        name: study_name(path),
        shown_as,
        text,
        folder: Some(path.parent().unwrap_or(Path::new("")).to_owned()),
    })
}

/// Name and text, with all that it includes, of job files, which are beside one another, as the study that names them is.
fn job_files(first: &Path, text: &str, more: &[String]) -> Result<Vec<(String, String)>, Error> {
    let file = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let all = |path: &Path, text: &str| {
        let name = file(path);
        let beside = |other: &str| {
            let at = path.with_file_name(other);
            let why = |error: assay_sys::files::Error| format!("{}: {}", at.display(), error.cause);
            match other == name {
                true => with_environment(&at, text),
                false => with_environment(&at, &input_text(&at, MOST_TEXT).map_err(why)?),
            }
        };
        let text = with_includes(&name, &beside);
        let hint = "correct the job file; `fio --parse-only` checks it";
        text.map(|text| (name.clone(), text))
            .map_err(|why| Error::usage(format!("{why}\n  hint: {hint}")))
    };
    let mut files = vec![all(first, text)?];
    for path in more.iter().map(Path::new) {
        let shown = path.display();
        if path.parent() != first.parent() || files.iter().any(|(known, _)| *known == file(path)) {
            let hint = "name each file once, all in one folder";
            return Err(Error::usage(format!("{shown} cannot be added\n  hint: {hint}")));
        }
        let text = input_text(path, MOST_BYTES);
        let text =
            text.map_err(|error| Error::usage(format!("cannot read {shown}: {}", error.cause)))?;
        files.push(all(path, &text)?);
    }
    Ok(files)
}

fn find_shipped(name: &str) -> Result<Source, Error> {
    if let Some(study) = shipped().iter().find(|study| study.name == name) {
        return Ok(Source {
            name: study.name.to_owned(),
            shown_as: format!("{name} (shipped)"),
            text: study.text.to_owned(),
            folder: None,
        });
    }
    let similar = || {
        let similar = closest(name, shipped().iter().map(|study| study.name))?;
        Some(format!("did you mean `{similar}`?"))
    };
    let hint = file_beside(Path::new(name)).or_else(similar).unwrap_or_else(|| {
        "`assay run --list` lists them; for a file give its path or `.toml`".to_owned()
    });
    Err(Error::usage(format!("no shipped study is called `{name}`\n  hint: {hint}")))
}

/// What to name instead of a folder, or of a file without its ending.
fn file_beside(path: &Path) -> Option<String> {
    if path.is_dir() {
        return Some(format!("{} is a folder: name a study file in it", path.display()));
    }
    let files = [".toml", ".assay.toml", ".fio"].map(|ending| {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        PathBuf::from(file)
    });
    let file = files.iter().find(|file| file.is_file())?;
    Some(format!("did you mean the file `{}`?", file.display()))
}

fn read_named_file(source: &Source, path: &str) -> Result<String, String> {
    match &source.folder {
        None => shipped_file(path),
        Some(folder) => {
            let path = folder.join(path);
            let text = input_text(&path, MOST_TEXT)
                .map_err(|error| format!("{}: {}", path.display(), error.cause))?;
            with_environment(&path, &text)
        }
    }
}

/// A job file, the only kind of file that studies name, with the variables that fio would replace.
fn with_environment(path: &Path, text: &str) -> Result<String, String> {
    let replaced = with_variables(text, &|name| std::env::var(name).ok());
    replaced.map_err(|why| format!("{}: {why}", path.display()))
}

/// The absolute path of a study file's folder.
fn folder(source: &Source) -> Option<String> {
    let folder = source.folder.as_ref()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    Some(folder.canonicalize().ok()?.display().to_string())
}

/// The study of a file: `mine` of `mine.toml`, and of `mine.assay.toml`, the pattern by which editors know studies.
fn study_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default();
    stem.strip_suffix(".assay").filter(|name| !name.is_empty()).map_or(stem.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_of_the_text_and_of_the_overrides_come_together() {
        let set = vec!["groups".to_owned(), "no-such=1".to_owned()];
        let error = load(&StudyChoice { set, ..StudyChoice::named("io-weight") }).unwrap_err();
        assert_eq!(error.code, Code::Usage);
        let note = "io-weight (shipped) has 2 mistakes; nothing was touched";
        assert_eq!(error.note.as_deref(), Some(note));
        assert_eq!(error.findings.unwrap().findings.len(), 2);
    }

    #[test]
    fn a_similar_shipped_study_is_proposed() {
        let error = load(&StudyChoice::named("io-wieght")).unwrap_err();
        assert!(error.to_string().contains("did you mean `io-weight`?"), "{error}");
    }

    #[test]
    fn both_patterns_of_files_name_the_same_study() {
        for file in ["a/mine.toml", "a/mine.assay.toml", "mine"] {
            assert_eq!(study_name(Path::new(file)), "mine");
        }
        assert_eq!(study_name(Path::new(".assay.toml")), ".assay");
    }
}
