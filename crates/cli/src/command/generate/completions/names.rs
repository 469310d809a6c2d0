//! Names that stand for arguments: studies and their factors, knobs, causes, rules, cases and runs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use assay_run::load::load_regular;
use assay_run::overrides::StudyChoice;
use assay_study::{Factor, shipped};
use assay_sys::files::Dir;
use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};

use super::words::words_of_study;
use crate::codes::{cause_names, codes};

/// What completes an argument.
type Completer = fn(&OsStr) -> Vec<CompletionCandidate>;

/// The folder of runs, unless `--out` names another.
const RUNS: &str = "runs";

/// The program whose arguments know their names.
pub(super) fn with_names(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|argument| with_name(&name, argument)).mut_subcommands(with_names)
}

fn with_name(command: &str, argument: Arg) -> Arg {
    let named = completer(command, argument.get_id().as_str());
    // What clap would complete by itself would not be sifted.
    let of_path = (argument.get_value_hint() == ValueHint::AnyPath).then_some(paths as Completer);
    match named.or(of_path) {
        Some(completer) => argument
            .add(ArgValueCompleter::new(move |current: &OsStr| on_one_line(completer(current)))),
        None => argument,
    }
}

/// Those without control characters. A shell takes each line as a candidate, so that the name of a folder could otherwise
/// be two, the second of which looks like an option.
fn on_one_line(mut candidates: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    candidates.retain(|one| !one.get_value().to_string_lossy().chars().any(char::is_control));
    candidates
}

fn paths(current: &OsStr) -> Vec<CompletionCandidate> {
    PathCompleter::any().complete(current)
}

fn completer(command: &str, argument: &str) -> Option<Completer> {
    Some(match (command, argument) {
        (_, "study") => studies,
        ("exec" | "blame", "set") => knobs,
        (_, "set") => factors,
        ("diagnose", "only") => causes,
        ("conform", "cases" | "arguments") => cases,
        ("explain", "code") => known_codes,
        ("judge" | "diagnose", "run")
        | ("compare" | "report", "runs")
        | ("compare" | "run", "baseline") => runs,
        _ => return None,
    })
}

/// The names that begin like `current`, each with a line about it.
fn beginning<'n>(
    current: &OsStr,
    names: impl IntoIterator<Item = (String, &'n str)>,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let fitting = names.into_iter().filter(|(name, _)| name.starts_with(&*current));
    fitting
        .map(|(name, about)| {
            let about = (!about.is_empty()).then(|| about.to_owned().into());
            CompletionCandidate::new(name).help(about)
        })
        .collect()
}

fn shipped_studies(current: &OsStr) -> Vec<CompletionCandidate> {
    beginning(current, shipped().iter().map(|study| (study.name.to_owned(), "")))
}

fn studies(current: &OsStr) -> Vec<CompletionCandidate> {
    let is_study = |path: &Path| {
        path.is_dir() || path.extension().is_some_and(|kind| kind == "toml" || kind == "fio")
    };
    let mut found = shipped_studies(current);
    found.extend(PathCompleter::any().filter(is_study).complete(current));
    found
}

/// Factors of the study on the command line, or of all shipped ones: `groups=`, then `groups=4,8`.
fn factors(current: &OsStr) -> Vec<CompletionCandidate> {
    let factors = factors_of(&words_of_study());
    let text = current.to_string_lossy();
    let Some((name, values)) = text.split_once('=') else {
        let names = factors.keys().map(|name| (format!("{name}="), ""));
        return beginning(current, names);
    };
    // Levels that are already given stay in front of the next.
    let given = values.rfind(',').map_or("", |comma| &values[..=comma]);
    let is_new = |level: &&String| given.split(',').all(|one| one != level.as_str());
    let levels = factors.get(name).into_iter().flatten().filter(is_new);
    beginning(current, levels.map(|level| (format!("{name}={given}{level}"), "")))
}

/// The levels of each factor.
fn factors_of(words: &[String]) -> BTreeMap<String, Vec<String>> {
    // Nobody has asked for the file to be read: a pipe would be waited for.
    let read = |name: &str| {
        load_regular(&StudyChoice::named(name)).ok().map(|loaded| loaded.study.factors)
    };
    let of_study: Option<Vec<Factor>> = words.iter().find_map(|word| read(word));
    let all = || shipped().iter().filter_map(|study| read(study.name)).flatten().collect();
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for factor in of_study.unwrap_or_else(all) {
        let levels = found.entry(factor.name).or_default();
        levels.extend(factor.values.iter().map(ToString::to_string));
        levels.sort();
        levels.dedup();
    }
    found
}

fn knobs(current: &OsStr) -> Vec<CompletionCandidate> {
    let settable =
        assay_host::knob::all().iter().filter(|knob| knob.is_for_groups() && !knob.is_pattern());
    beginning(current, settable.map(|knob| (format!("{}=", knob.name), knob.about)))
}

fn causes(current: &OsStr) -> Vec<CompletionCandidate> {
    beginning(current, cause_names().into_iter().map(|(name, about)| (name.to_owned(), about)))
}

fn known_codes(current: &OsStr) -> Vec<CompletionCandidate> {
    beginning(current, codes())
}

fn cases(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut names = BTreeMap::new();
    for case in assay_conform::all() {
        names.insert(case.controller.to_owned(), "");
        names.insert(format!("{}/{}", case.controller, case.behaviour), case.promise);
    }
    beginning(current, names)
}

/// The folders of runs in `runs/`, by their names alone: no run is opened. More than a shell can show are left
/// to it.
fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    const MOST: usize = 500;
    let names = Dir::open(Path::new(RUNS))
        .ok()
        .and_then(|folder| assay_record::run_folder::runs(&folder).ok());
    // The newest are the last: names begin with the time.
    let names = names.into_iter().flatten().rev().take(MOST);
    let paths = names.filter_map(|name| Some((format!("{RUNS}/{}", name.to_str()?), "")));
    let mut found = beginning(current, paths);
    if found.is_empty() {
        found = PathCompleter::dir().complete(current);
    }
    found
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    fn words(candidates: &[CompletionCandidate]) -> Vec<String> {
        candidates.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    /// The ids of all arguments with their commands.
    fn arguments(command: &Command, found: &mut Vec<(String, String)>) {
        let name = command.get_name().to_owned();
        found.extend(command.get_arguments().map(|one| (name.clone(), one.get_id().to_string())));
        command.get_subcommands().for_each(|below| arguments(below, found));
    }

    #[test]
    fn every_named_argument_exists() {
        let mut all = Vec::new();
        arguments(&Arguments::command(), &mut all);
        let completed: Vec<_> = all.iter().filter(|(a, b)| completer(a, b).is_some()).collect();
        for (command, argument) in [
            ("run", "study"),
            ("run", "set"),
            ("run", "baseline"),
            ("exec", "set"),
            ("blame", "set"),
            ("diagnose", "only"),
            ("diagnose", "run"),
            ("explain", "code"),
            ("conform", "cases"),
            ("conform", "arguments"),
            ("compare", "runs"),
            ("compare", "baseline"),
            ("report", "runs"),
            ("judge", "run"),
        ] {
            let is_completed = completed.iter().any(|one| one.0 == command && one.1 == argument);
            assert!(is_completed, "{command} {argument}");
        }
    }

    #[test]
    fn a_name_of_two_lines_is_no_candidate_of_any_argument() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["evil", "evil\n--erase=sda", "evil\rx"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let current = folder.path().join("ev");
        let mut all = vec![with_names(Arguments::command())];
        let mut asked = 0;
        while let Some(command) = all.pop() {
            let completers =
                command.get_arguments().filter_map(|one| one.get::<ArgValueCompleter>());
            for completer in completers {
                let found = words(&completer.complete(current.as_os_str()));
                assert!(found.iter().all(|one| one.ends_with("evil/")), "{found:?}");
                asked += found.len();
            }
            all.extend(command.get_subcommands().cloned());
        }
        assert!(asked > 10, "{asked}");
    }

    #[test]
    fn levels_follow_those_that_are_given() {
        let of = |text: &str| words(&factors(OsStr::new(text)));
        assert!(of("gro").contains(&"groups=".to_owned()), "{:?}", of("gro"));
        let next = of("groups=4,");
        assert!(
            next.iter().all(|word| word.starts_with("groups=4,")) && !next.is_empty(),
            "{next:?}"
        );
        assert!(!next.contains(&"groups=4,4".to_owned()), "{next:?}");
        assert!(of("no-such=").is_empty());
    }

    #[test]
    fn names_are_those_of_the_tables() {
        assert_eq!(words(&known_codes(OsStr::new("A-ANC"))), ["A-ANCESTOR"]);
        assert_eq!(words(&knobs(OsStr::new("memory.hi"))), ["memory.high="]);
        assert!(words(&causes(OsStr::new("C-"))).len() > 20);
        assert!(words(&cases(OsStr::new("cpu/"))).len() > 3);
    }
}
