//! Options of fio: whether an option exists, whether the study may set it, and the values of those
//! that decide what a trial measures.

use assay_diagnostic::{Diagnostic, closest};
use assay_units::Bytes;

use super::{Check, Complaint, whole};
use crate::code;
use crate::reader::word_hint;
use crate::syntax::Scalar;
use crate::template::Templated;

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

pub(super) fn check(check: &mut Check<'_>, args: &str, option: &str, value: &Templated<Scalar>) {
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
        unknown(check, &path, option);
        return;
    }
    let what = format!("the option `{option}`");
    check.each_value(value, &path, &what, |scalar| complaint(option, scalar));
}

fn known() -> impl Iterator<Item = &'static str> {
    KNOWN.lines().filter(|line| !line.starts_with('#'))
}

/// An option close to a known one is an error; any other may belong to a newer fio.
fn unknown(check: &mut Check<'_>, path: &str, option: &str) {
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
    assay_workload::fio::fraction(text).is_some()
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
