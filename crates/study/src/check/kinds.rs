//! `args` of the kinds of the registry: whether there is such an option, and what it may be.

use assay_diagnostic::{Diagnostic, closest};
use assay_workload::{GIVEN, Kind, Meaning, Program, kind};

use super::{Check, Complaint};
use crate::code;
use crate::reader::word_hint;
use crate::syntax::{Bindings, Scalar};
use crate::template::Templated;

type Argument = (String, Vec<Templated<Scalar>>);

/// What the run gives, as values that stand for themselves.
pub(crate) fn given() -> Bindings {
    let itself = |name: &&str| ((*name).to_owned(), Scalar::Text(format!("{{{name}}}")));
    GIVEN.iter().map(itself).collect()
}

pub(super) fn check(check: &mut Check<'_>, name: &str, args: &[Argument], path: &str) {
    // A name that is none was reported where it was read.
    let Some(kind) = kind(name) else { return };
    for (option, values) in args {
        one(check, kind, option, values, &format!("{path}.args.{option}"));
    }
    for key in kind.keys.iter().filter(|key| key.needed) {
        if !args.iter().any(|(name, _)| name == key.name) {
            let finding = Diagnostic::error(
                code::MISSING_OPTION,
                format!("`{}` needs `{}`: {}", kind.name, key.name, key.about),
            )
            .hint(format!("add `{} = ...` to its `args`", key.name));
            let place = format!("{path}.args");
            let place = if check.place(&place).is_some() { place } else { path.to_owned() };
            check.add_at(&place, &format!("expected `{}`", key.name), finding);
        }
    }
}

fn one(check: &mut Check<'_>, kind: &Kind, option: &str, values: &[Templated<Scalar>], path: &str) {
    match kind.meaning(option) {
        Meaning::Owned(instead) => {
            let finding = Diagnostic::error(
                code::OWNED_OPTION,
                format!("`{option}` is set by the run, not by the study"),
            )
            .hint(instead);
            check.add_at(&format!("{path}#key"), "expected an option of the load", finding);
        }
        Meaning::Unknown => unknown(check, kind, option, path),
        Meaning::Other => strange(check, kind, option, path),
        Meaning::Flag => each(check, values, path, option, |value| {
            (!matches!(value, Scalar::Boolean(_))).then(|| Complaint {
                code: code::OPTION_VALUE,
                message: format!("`{option}` takes no value, and is `{value}`"),
                expected: "`true` or `false`".to_owned(),
                remedy: "write true to switch it on".to_owned(),
            })
        }),
        Meaning::Value => each(check, values, path, option, |value| {
            matches!(value, Scalar::Boolean(_)).then(|| Complaint {
                code: code::OPTION_VALUE,
                message: format!("`{option}` needs a value, and is `{value}`"),
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
                    expected: crate::reader::quoted(key.words),
                    remedy: word_hint(&text, key.words),
                })
            });
        }
        Meaning::Key(_) => each(check, values, path, option, |_| None),
    }
}

/// Looks at every value under every combination, with what the run gives standing for itself.
fn each(
    check: &mut Check<'_>,
    values: &[Templated<Scalar>],
    path: &str,
    option: &str,
    complain: impl Fn(&Scalar) -> Option<Complaint>,
) {
    for (index, value) in values.iter().enumerate() {
        let what = format!("the option `{option}`");
        check.each_value_beside(&given(), value, &format!("{path}[{index}]"), &what, &complain);
    }
}

/// Our own generators have no options but these; another program may be newer than the list.
fn unknown(check: &mut Check<'_>, kind: &Kind, option: &str, path: &str) {
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

/// A name that is handed on: anything may be right, but what is nearly a known one is a slip.
fn strange(check: &mut Check<'_>, kind: &Kind, option: &str, path: &str) {
    let names = kind.names();
    if names.contains(&option) {
        return;
    }
    let Some(meant) = closest(option, names.iter().copied()) else { return };
    let finding = Diagnostic::warning(
        code::STRANGE_OPTION,
        format!("`{}` knows no `{option}`, and is handed it all the same", kind.name),
    )
    .hint(format!("did you mean `{meant}`?"));
    check.add_at(&format!("{path}#key"), "expected a name that it knows", finding);
}
