//! Two passports: what changed, kernel by kernel.

use assay_verdict::{CaseVerdict, Passport};
use serde::Serialize;

use crate::code::Code;

/// What two passports say of the kernels that both have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassportComparison {
    /// Format version: 1.
    pub schema: u32,
    /// Kernels of both, by name, each with its releases.
    pub kernels: Vec<(String, Option<String>, Option<String>)>,
    /// Kernels of only one.
    pub only_in_one: Vec<String>,
    /// Results of both that say the same.
    pub same: usize,
    /// Results that differ.
    pub changes: Vec<CaseChange>,
}

/// A case whose result differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaseChange {
    /// The kernel's name.
    pub kernel: String,
    /// `controller/behaviour`.
    pub case: String,
    /// The first passport's verdict; `None` if it has no result.
    pub first: Option<CaseVerdict>,
    /// The second's.
    pub second: Option<CaseVerdict>,
}

impl CaseChange {
    /// Whether a kernel was found to keep it once, and to break it once.
    #[must_use]
    pub fn contradicts(&self) -> bool {
        let decided = |verdict: Option<CaseVerdict>| verdict.is_some_and(CaseVerdict::is_decided);
        decided(self.first) && decided(self.second)
    }
}

impl PassportComparison {
    /// 1 if a verdict is contradicted, 3 if one is decided in one passport only, else 0.
    #[must_use]
    pub fn code(&self) -> Code {
        match (self.changes.iter().any(CaseChange::contradicts), self.changes.is_empty()) {
            (true, _) => Code::Broken,
            (false, false) => Code::Undecided,
            (false, true) => Code::Kept,
        }
    }

    /// The comparison for readers; contradictions come first.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        let release = |release: &Option<String>| release.clone().unwrap_or("unknown".to_owned());
        for (name, first, second) in &self.kernels {
            let releases = match first == second {
                true => release(first),
                false => format!("{}, then {}", release(first), release(second)),
            };
            lines.push(format!("{name}: Linux {releases}"));
        }
        lines.extend(self.only_in_one.iter().map(|name| format!("{name}: only in one")));
        let word = |verdict: Option<CaseVerdict>| verdict.map_or("no result", CaseVerdict::word);
        let (worst, others): (Vec<_>, Vec<_>) =
            self.changes.iter().partition(|change| change.contradicts());
        for change in worst.iter().chain(&others) {
            let (first, second) = (word(change.first), word(change.second));
            lines.push(format!("  {}: {} {first}, then {second}", change.kernel, change.case));
        }
        lines.push(format!(
            "{} results are the same, {} differ in what is decided, {} contradict each other",
            self.same,
            others.len(),
            worst.len()
        ));
        lines.join("\n")
    }
}

/// Compares two passports.
///
/// ```no_run
/// use assay_session::{compare_passports, read_passport};
/// let comparison = compare_passports(&read_passport("a".as_ref())?, &read_passport("b".as_ref())?);
/// println!("{}", comparison.text());
/// # Ok::<(), assay_session::Error>(())
/// ```
#[must_use]
pub fn compare_passports(first: &Passport, second: &Passport) -> PassportComparison {
    let find = |passport: &Passport, name: &str| {
        let mut kernels = passport.kernels.iter();
        kernels.find(|kernel| kernel.name == name).map(|kernel| kernel.release.clone())
    };
    let (mut kernels, mut only_in_one) = (Vec::new(), Vec::new());
    for kernel in &first.kernels {
        match find(second, &kernel.name) {
            Some(release) => kernels.push((kernel.name.clone(), kernel.release.clone(), release)),
            None => only_in_one.push(kernel.name.clone()),
        }
    }
    let others = second.kernels.iter().map(|kernel| &kernel.name);
    only_in_one.extend(others.filter(|name| find(first, name).is_none()).cloned());
    let (mut same, mut changes) = (0, Vec::new());
    for (name, ..) in &kernels {
        for case in cases(first, second) {
            let of = |passport: &Passport| verdict(passport, &case, name);
            match (of(first), of(second)) {
                (None, None) => {}
                (first, second) if first == second => same += 1,
                (first, second) => changes.push(CaseChange {
                    kernel: name.clone(),
                    case: case.clone(),
                    first,
                    second,
                }),
            }
        }
    }
    PassportComparison { schema: 1, kernels, only_in_one, same, changes }
}

/// The names of the cases of both, each once.
fn cases(first: &Passport, second: &Passport) -> Vec<String> {
    let mut names: Vec<String> =
        first.cases.iter().map(assay_verdict::PassportCase::name).collect();
    for case in &second.cases {
        if !names.contains(&case.name()) {
            names.push(case.name());
        }
    }
    names
}

fn verdict(passport: &Passport, case: &str, kernel: &str) -> Option<CaseVerdict> {
    let case = passport.cases.iter().find(|one| one.name() == case)?;
    case.results.get(kernel).map(|result| result.verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passport::fake::passport;

    #[test]
    fn only_kept_against_broken_is_a_contradiction() {
        use CaseVerdict::{Broken, Kept, Undecided};
        let first = passport(&[("host", &[Kept, Kept, Kept]), ("debian-6.1", &[Kept])]);
        let second = passport(&[("host", &[Kept, Undecided, Broken])]);
        let comparison = compare_passports(&first, &second);
        assert_eq!((comparison.same, comparison.changes.len()), (1, 2));
        assert_eq!(comparison.only_in_one, ["debian-6.1"]);
        assert_eq!(comparison.code(), Code::Broken);
        let text = comparison.text();
        assert!(text.contains("host: cpu/c kept, then broken"), "{text}");
        let undecided = compare_passports(
            &passport(&[("host", &[Kept])]),
            &passport(&[("host", &[Undecided])]),
        );
        assert_eq!(undecided.code(), Code::Undecided);
        assert_eq!(compare_passports(&first, &first).code(), Code::Kept);
    }
}
