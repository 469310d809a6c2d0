//! Values of host settings, and settings that cancel each other.

use assay_diagnostic::Diagnostic;
use assay_knob::{HostSetting, host_setting};

use super::{Check, Complaint, template_of, when};
use crate::code;
use crate::syntax::{Bindings, DropCaches, Scalar};
use crate::template::Templated;

pub(super) fn check(check: &mut Check<'_>) {
    let settings = &check.study.settings;
    for (name, value) in &settings.values {
        let Some(setting) = host_setting(name) else { continue };
        check.each_value(value, &path(setting), &format!("`{}`", setting.key()), |scalar| {
            setting.normal(&scalar.to_string()).err().map(|message| Complaint {
                code: code::SETTING_VALUE,
                message,
                expected: setting.range.to_string(),
                remedy: format!("write {}", setting.range),
            })
        });
    }
    for (index, (name, value)) in settings.values.iter().enumerate() {
        let Some(setting) = host_setting(name) else { continue };
        let Some(rival) = setting.rival() else { continue };
        let later = settings.values.iter().skip(index + 1);
        if let Some((_, other)) = later.into_iter().find(|(name, _)| name == rival.name) {
            cancelling(check, (setting, value), (rival, other));
        }
    }
    if let Some(drop) = &settings.drop_caches {
        check.each_value(drop, "drop_caches", "`drop_caches`", |scalar| {
            DropCaches::from_scalar(scalar).is_none().then(|| Complaint {
                code: code::SETTING_VALUE,
                message: format!("`drop_caches` is `{scalar}`"),
                expected: "`true`, `false`, or 1, 2 or 3".to_owned(),
                remedy: "write `true` for 3: the page cache and the kernel's reclaimable \
                         slab objects"
                    .to_owned(),
            })
        });
    }
}

/// The path of the value in the file.
fn path(setting: &HostSetting) -> String {
    let table = if setting.is_sysctl() { "sysctls" } else { "thp" };
    format!("{table}.{}", setting.name)
}

/// Reports two rivals unless exactly one of them is other than 0.
fn cancelling(
    check: &mut Check<'_>,
    one: (&HostSetting, &Templated<Scalar>),
    two: (&HostSetting, &Templated<Scalar>),
) {
    for bindings in check.combinations_of(&[template_of(one.1), template_of(two.1)]) {
        let (Some(first), Some(second)) = (number(one, &bindings), number(two, &bindings)) else {
            continue;
        };
        if (first == 0) != (second == 0) {
            continue;
        }
        let (one_name, two_name) = (one.0.name, two.0.name);
        let message = match first {
            0 => format!("both `{one_name}` and `{two_name}` are 0{}", when(&bindings)),
            _ => format!(
                "`{one_name}` and `{two_name}` cannot both be set{}: the kernel zeroes the one \
                 when the other is written",
                when(&bindings)
            ),
        };
        let mut finding = Diagnostic::error(code::RIVAL_SETTINGS, message)
            .hint("set one of the two, and set the other to 0 or remove it");
        for (setting, label) in
            [(two.0, "expected 0 here or for the other setting"), (one.0, "the other setting")]
        {
            if let Some(span) = check.span(&path(setting)) {
                finding = finding.at(span, label);
            }
        }
        check.findings.push(finding);
        return;
    }
}

fn number(setting: (&HostSetting, &Templated<Scalar>), bindings: &Bindings) -> Option<u64> {
    let scalar = setting.1.resolve(bindings).ok()?;
    setting.0.normal(&scalar.to_string()).ok()?.parse().ok()
}
