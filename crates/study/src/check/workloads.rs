//! Workloads: their options, of fio and of the kinds of the registry, preparations, and delayed starts.

use assay_sys::closest;
use assay_sys::diagnostic::Diagnostic;
use assay_sys::units::Bytes;

use super::{Check, Complaint, whole};
use crate::code;
use crate::reader::{did_you_mean, quoted, word_hint};
use crate::syntax::{After, Bindings, Scalar, Tool, Workload};
use crate::template::Templated;
use crate::workload::{Kind, Meaning, PLACEHOLDERS, Program, kind};

pub(super) fn workloads(check: &mut Check<'_>) {
    for (name, workload) in &check.study.workloads {
        let path = format!("workloads.{name}");
        match &workload.tool {
            Tool::Fio { args } => {
                for (option, value) in args {
                    fio_option(check, &format!("{path}.args"), option, value);
                }
            }
            Tool::Kind { name: kind, args } => kind_options(check, kind, args, &path),
            Tool::FioJobFile { .. } | Tool::Command { .. } => {}
        }
        preparations(check, name, workload, &path);
        waits(check, name, workload, &path);
    }
}

/// Checks that a preparation exists, is not the workload itself, and has no preparations.
fn preparations(check: &mut Check<'_>, name: &str, workload: &Workload, path: &str) {
    for (index, prepared) in workload.prepare.iter().enumerate() {
        let path = format!("{path}.prepare[{index}]");
        let preparation = check.study.workloads.get(prepared);
        let (message, hint) = match preparation {
            None => {
                undefined(check, prepared, &format!("`{name}` prepares with"), &path);
                continue;
            }
            Some(_) if prepared == name => (
                format!("`{name}` prepares itself"),
                "name another workload, such as the one that makes the data".to_owned(),
            ),
            Some(other) if !other.prepare.is_empty() || other.after.is_some() => (
                format!("`{prepared}` prepares `{name}` but waits for other workloads itself"),
                format!("list all of them in `prepare` of `{name}`, in order"),
            ),
            Some(_) => continue,
        };
        let finding = Diagnostic::error(code::PREPARATION, message).hint(hint);
        check.add_at(&path, "expected a workload that runs to completion", finding);
    }
}

/// Checks that the awaited workload runs in every group in which this one runs and does not wait
/// for this one.
fn waits(check: &mut Check<'_>, name: &str, workload: &Workload, path: &str) {
    let path = format!("{path}.after");
    let awaited = match &workload.after {
        None => return,
        Some(After::Time(length)) => {
            if *length >= check.study.design.at_most {
                let finding = Diagnostic::error(
                    code::START_AFTER,
                    format!("`{name}` would start after the end of the repeat"),
                )
                .hint("shorten it, or lengthen `at_most` in [design]");
                check.add_at(&path, "expected less than `at_most`", finding);
            }
            return;
        }
        Some(After::Workload(awaited)) => awaited,
    };
    if !check.study.workloads.contains_key(awaited) {
        undefined(check, awaited, &format!("`{name}` starts after"), &path);
        return;
    }
    if waits_for_itself(check, name) {
        let finding = Diagnostic::error(code::START_AFTER, format!("`{name}` waits for itself"))
            .hint("let one of them start with the others");
        check.add_at(&path, "expected a workload that does not wait for this one", finding);
        return;
    }
    let mut open: Vec<_> = check.study.groups.iter().collect();
    while let Some(group) = open.pop() {
        open.extend(&group.groups);
        let names = check.runs_of(group);
        let runs = |workload: &str| names.iter().any(|(_, run, _)| run == workload);
        if runs(name) && !runs(awaited) {
            let finding = Diagnostic::error(
                code::START_AFTER,
                format!("the group `{}` runs `{name}` but not `{awaited}`", group.name),
            )
            .hint(format!("add `{awaited}` to its `run`, or write a duration"));
            check.add_at(&path, "expected a workload of the same group", finding);
            return;
        }
    }
}

fn waits_for_itself(check: &Check<'_>, name: &str) -> bool {
    let mut at = name;
    for _ in 0..check.study.workloads.len() {
        let waits = check.study.workloads.get(at).and_then(|workload| workload.after.as_ref());
        match waits {
            Some(After::Workload(next)) if next == name => return true,
            Some(After::Workload(next)) => at = next,
            _ => return false,
        }
    }
    false
}

fn undefined(check: &mut Check<'_>, name: &str, who: &str, path: &str) {
    let hint = did_you_mean(name, check.study.workloads.keys().map(String::as_str), || {
        format!("add a table [workloads.{name}], or write a duration such as `30 s`")
    });
    let finding = Diagnostic::error(
        code::UNDEFINED_WORKLOAD,
        format!("{who} `{name}`, which is not defined"),
    )
    .hint(hint);
    check.add_at(path, "expected a workload of the study", finding);
}

type Argument = (String, Vec<Templated<Scalar>>);

/// The placeholders of the run, each bound to itself.
pub(crate) fn placeholders() -> Bindings {
    let to_itself = |name: &&str| ((*name).to_owned(), Scalar::Text(format!("{{{name}}}")));
    PLACEHOLDERS.iter().map(to_itself).collect()
}

fn kind_options(check: &mut Check<'_>, name: &str, args: &[Argument], path: &str) {
    // An unknown name was reported when it was read.
    let Some(kind) = kind(name) else { return };
    for (option, values) in args {
        kind_option(check, kind, option, values, &format!("{path}.args.{option}"));
    }
    for key in kind.keys.iter().filter(|key| key.required) {
        if !args.iter().any(|(name, _)| name == key.name) {
            let finding = Diagnostic::error(
                code::MISSING_OPTION,
                format!("`{}` needs `{}`: {}", kind.name, key.name, key.about),
            )
            .hint(format!("add `{} = ...` to its `args`", key.name));
            let path_of_args = format!("{path}.args");
            let path_of_args =
                if check.span(&path_of_args).is_some() { path_of_args } else { path.to_owned() };
            check.add_at(&path_of_args, &format!("expected `{}`", key.name), finding);
        }
    }
}

fn kind_option(
    check: &mut Check<'_>,
    kind: &Kind,
    option: &str,
    values: &[Templated<Scalar>],
    path: &str,
) {
    match kind.meaning(option) {
        Meaning::Owned(instead) => {
            let finding = Diagnostic::error(
                code::OWNED_OPTION,
                format!("`{option}` is set by the run, not by the study"),
            )
            .hint(instead);
            check.add_at(
                &format!("{path}#key"),
                "expected an option of the workload itself",
                finding,
            );
        }
        Meaning::Unknown => unknown_of_kind(check, kind, option, path),
        Meaning::Property => forwarded(check, kind, option, path),
        Meaning::Flag => each(check, values, path, option, |value| {
            (!matches!(value, Scalar::Boolean(_))).then(|| Complaint {
                code: code::OPTION_VALUE,
                message: format!("`{option}` takes no value, but is `{value}`"),
                expected: "`true` or `false`".to_owned(),
                remedy: "write true to switch it on".to_owned(),
            })
        }),
        Meaning::Value => each(check, values, path, option, |value| {
            matches!(value, Scalar::Boolean(_)).then(|| Complaint {
                code: code::OPTION_VALUE,
                message: format!("`{option}` needs a value, but is `{value}`"),
                expected: "a number or a text".to_owned(),
                remedy: "write its value".to_owned(),
            })
        }),
        Meaning::Key(key) if !key.words.is_empty() => {
            each(check, values, path, option, |value| {
                let text = value.to_string();
                (!key.words.contains(&text.as_str())).then(|| Complaint {
                    code: code::UNKNOWN_WORD,
                    message: format!("`{option}` is `{text}`"),
                    expected: quoted(key.words),
                    remedy: word_hint(&text, key.words),
                })
            });
        }
        Meaning::Key(_) => each(check, values, path, option, |_| None),
    }
}

/// Checks every value under every combination, with the placeholders of the run bound to
/// themselves.
fn each(
    check: &mut Check<'_>,
    values: &[Templated<Scalar>],
    path: &str,
    option: &str,
    complain: impl Fn(&Scalar) -> Option<Complaint>,
) {
    for (index, value) in values.iter().enumerate() {
        let what = format!("the option `{option}`");
        check.each_value_with(
            &placeholders(),
            value,
            &format!("{path}[{index}]"),
            &what,
            &complain,
        );
    }
}

/// Our own generators have exactly these options; another program may be newer than the list.
fn unknown_of_kind(check: &mut Check<'_>, kind: &Kind, option: &str, path: &str) {
    let names = kind.names();
    let message = format!("`{}` has no option `{option}`", kind.name);
    let finding = match closest(option, names.iter().copied()) {
        Some(meant) => Diagnostic::error(code::UNKNOWN_OPTION, message)
            .hint(format!("did you mean `{meant}`?")),
        None if kind.program == Program::Load => Diagnostic::error(code::UNKNOWN_OPTION, message)
            .hint(format!("`assay-load {} --help` lists them", kind.name)),
        None => Diagnostic::warning(code::STRANGE_OPTION, message)
            .hint("remove it, unless the program of this host is newer"),
    };
    check.add_at(&format!("{path}#key"), "expected one of its options", finding);
}

/// An option that is passed on unchecked: any name may be right, but one close to a known one is
/// probably a slip.
fn forwarded(check: &mut Check<'_>, kind: &Kind, option: &str, path: &str) {
    let names = kind.names();
    if names.contains(&option) {
        return;
    }
    let Some(meant) = closest(option, names.iter().copied()) else { return };
    let finding = Diagnostic::warning(
        code::STRANGE_OPTION,
        format!("unknown option `{option}` of `{}`, passed on as it is", kind.name),
    )
    .hint(format!("did you mean `{meant}`?"));
    check.add_at(&format!("{path}#key"), "expected a known name", finding);
}

/// Every option that fio 3.33 knows; the file describes how it was made.
const KNOWN: &str = include_str!("../../data/fio-3.33-options.txt");

/// Values of `rw` (fio --cmdhelp=rw).
const DIRECTIONS: &[&str] = &[
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
];

/// Options that a study must not set, with what to write instead.
const OWNED: &[(&str, &str)] = &[
    ("cgroup", "fio is started inside its group; name the group in [[groups]]"),
    ("cgroup_weight", "write the weight under `knobs` of the group"),
    ("cgroup_nodelete", "the run creates and removes groups itself"),
    ("filename", "fio uses the disk of its group; choose it with `disk`"),
    ("filename_format", "fio uses the disk of its group; choose it with `disk`"),
    ("unique_filename", "fio uses the disk of its group; choose it with `disk`"),
    ("directory", "fio uses the disk of its group; choose it with `disk`"),
    ("opendir", "fio uses the disk of its group; choose it with `disk`"),
    ("ioscheduler", "write `scheduler` in the table of the disk"),
    ("name", "jobs are named after their group and workload"),
    ("runtime", "write `at_most` in [design]"),
    ("timeout", "write `at_most` in [design]"),
    ("time_based", "every workload runs until its repeat ends"),
    ("ramp_time", "write `warm_up` in [design]"),
    ("startdelay", "all groups start together"),
    ("wait_for", "all groups start together"),
    ("exec_prerun", "run other programs in a group of their own"),
    ("exec_postrun", "run other programs in a group of their own"),
    ("output", "fio's output is kept in the run folder"),
    ("output-format", "fio's output is read as JSON and kept in the run folder"),
    ("status-interval", "the groups are sampled from the kernel instead"),
    ("eta", "the run shows its own progress"),
    ("minimal", "fio's output is read as JSON and kept in the run folder"),
    ("client", "fio cannot run on several hosts in a study"),
    ("server", "fio cannot run on several hosts in a study"),
    ("daemonize", "the run supervises fio itself"),
];

fn fio_option(check: &mut Check<'_>, args: &str, option: &str, value: &Templated<Scalar>) {
    let path = format!("{args}.{option}");
    if let Some((_, instead)) = OWNED.iter().find(|(owned, _)| *owned == option) {
        let finding = Diagnostic::error(
            code::OWNED_FIO_OPTION,
            format!("the option `{option}` is set by the run, not by the study"),
        )
        .hint(format!("remove it: {instead}"));
        check.add_at(&format!("{path}#key"), "expected an option of the workload itself", finding);
        return;
    }
    if !known().any(|known| known == option) {
        unknown_of_fio(check, &path, option);
        return;
    }
    let what = format!("the option `{option}`");
    check.each_value(value, &path, &what, |scalar| complaint(option, scalar));
}

fn known() -> impl Iterator<Item = &'static str> {
    KNOWN.lines().filter(|line| !line.starts_with('#'))
}

/// An option close to a known one is an error; any other may belong to a newer fio.
fn unknown_of_fio(check: &mut Check<'_>, path: &str, option: &str) {
    let finding = match closest(option, known()) {
        Some(meant) => {
            Diagnostic::error(code::MISSPELT_FIO_OPTION, format!("fio has no option `{option}`"))
                .hint(format!("did you mean `{meant}`?"))
        }
        None => Diagnostic::warning(
            code::UNKNOWN_FIO_OPTION,
            format!("fio 3.33 has no option `{option}`"),
        )
        .hint("remove it, unless the fio of the host is newer"),
    };
    check.add_at(&format!("{path}#key"), "expected an option of fio", finding);
}

fn complaint(option: &str, value: &Scalar) -> Option<Complaint> {
    let text = value.to_string();
    match option {
        "rw" | "readwrite" => direction(option, &text),
        "iodepth" | "numjobs" => whole(value).is_none_or(|number| number < 1).then(|| Complaint {
            code: code::OUT_OF_RANGE,
            message: format!("the option `{option}` is `{text}`"),
            expected: "a whole number from 1".to_owned(),
            remedy: "write 1 or more".to_owned(),
        }),
        "direct" | "buffered" | "thread" => (!["0", "1", "true", "false"].contains(&text.as_str()))
            .then(|| Complaint {
                code: code::OUT_OF_RANGE,
                message: format!("the option `{option}` is `{text}`"),
                expected: "0 or 1".to_owned(),
                remedy: "write 1 to switch it on, 0 to switch it off".to_owned(),
            }),
        "bs" | "blocksize" => (!text.split(',').all(is_amount)).then(|| {
            quantity(option, &text, "an amount of data such as `4k`, or up to three with commas")
        }),
        "size" => (!is_size(&text) && !is_fraction(&text)).then(|| {
            let expected = "an amount of data such as `128M`, a percentage, or a fraction of the \
                            disk such as `1/4`";
            quantity(option, &text, expected)
        }),
        "io_size" | "filesize" => (!is_size(&text))
            .then(|| quantity(option, &text, "an amount of data such as `128M`, or a percentage")),
        _ => None,
    }
}

/// `randread`, or `randread:8` with a number of I/Os for each new offset.
fn direction(option: &str, text: &str) -> Option<Complaint> {
    let word = text.split(':').next().unwrap_or_default();
    (!DIRECTIONS.contains(&word)).then(|| Complaint {
        code: code::UNKNOWN_WORD,
        message: format!("the option `{option}` is `{text}`"),
        expected: "a direction such as `read`, `randread`, `write`, `randwrite` or `randrw`"
            .to_owned(),
        remedy: word_hint(word, DIRECTIONS),
    })
}

fn quantity(option: &str, text: &str, expected: &str) -> Complaint {
    Complaint {
        code: code::NOT_A_QUANTITY,
        message: format!("invalid value `{text}` for the option `{option}`"),
        expected: expected.to_owned(),
        remedy: format!("write {expected}"),
    }
}

/// fio accepts its suffixes in any case and with a trailing `b` or `ib`.
fn is_amount(text: &str) -> bool {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let suffix = lower.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &lower[..lower.len() - suffix.len()];
    let known = ["", "b", "k", "kb", "kib", "m", "mb", "mib", "g", "gb", "gib", "t", "tb", "tib"];
    let fits = known.contains(&suffix) && number.parse::<f64>().is_ok_and(|n| n > 0.0);
    fits || text.parse::<Bytes>().is_ok_and(|bytes| bytes.get() > 0)
}

fn is_fraction(text: &str) -> bool {
    crate::workload::fio::fraction(text).is_some()
}

fn is_size(text: &str) -> bool {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<u8>().ok());
    is_amount(text) || percent.is_some_and(|percent| (1..=100).contains(&percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_the_options_of_the_shipped_studies_and_their_aliases() {
        for option in ["rw", "readwrite", "bs", "blocksize", "iodepth", "direct", "size", "hipri"] {
            assert!(known().any(|known| known == option), "{option}");
        }
        assert!(known().all(|option| !option.contains(char::is_whitespace)));
    }

    #[test]
    fn sizes_are_amounts_percentages_or_fractions_of_the_disk() {
        for text in ["1G", "128M", "64 MiB", "50%", "4096", "10mb"] {
            assert!(is_size(text) && !is_fraction(text), "{text}");
        }
        for text in ["1/4", "3 / 4"] {
            assert!(is_fraction(text) && !is_size(text), "{text}");
        }
        for text in ["", "0", "0/4", "5/4", "1/0", "101%", "all", "-1"] {
            assert!(!is_size(text) && !is_fraction(text), "{text}");
        }
    }

    #[test]
    fn directions_may_have_a_count() {
        assert!(direction("rw", "randread:8").is_none());
        assert!(direction("rw", "radnread").unwrap().remedy.contains("randread"));
    }
}
