//! `args` of the kinds of the registry: whether an option exists, and its values.

use assay_diagnostic::{Diagnostic, closest};
use assay_workload::{Kind, Meaning, PLACEHOLDERS, Program, kind};

use super::{Check, Complaint};
use crate::code;
use crate::reader::word_hint;
use crate::syntax::{Bindings, Scalar};
use crate::template::Templated;

type Argument = (String, Vec<Templated<Scalar>>);

/// The placeholders of the run, each bound to itself.
pub(crate) fn placeholders() -> Bindings {
    let to_itself = |name: &&str| ((*name).to_owned(), Scalar::Text(format!("{{{name}}}")));
    PLACEHOLDERS.iter().map(to_itself).collect()
}

pub(super) fn check(check: &mut Check<'_>, name: &str, args: &[Argument], path: &str) {
    // An unknown name was reported when it was read.
    let Some(kind) = kind(name) else { return };
    for (option, values) in args {
        one(check, kind, option, values, &format!("{path}.args.{option}"));
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

fn one(check: &mut Check<'_>, kind: &Kind, option: &str, values: &[Templated<Scalar>], path: &str) {
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
        Meaning::Unknown => unknown(check, kind, option, path),
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
                    expected: crate::reader::quoted(key.words),
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
