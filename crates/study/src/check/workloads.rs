//! Workloads: their options, preparations and delayed starts.

use assay_diagnostic::Diagnostic;

use super::{Check, fio, kinds};
use crate::code;
use crate::reader::did_you_mean;
use crate::syntax::{After, Tool, Workload};

pub(super) fn check(check: &mut Check<'_>) {
    for (name, workload) in &check.study.workloads {
        let path = format!("workloads.{name}");
        match &workload.tool {
            Tool::Fio { args } => {
                for (option, value) in args {
                    fio::check(check, &format!("{path}.args"), option, value);
                }
            }
            Tool::Kind { name: kind, args } => kinds::check(check, kind, args, &path),
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
