//! Two passports: what changed, kernel by kernel.

use std::collections::HashMap;

use assay_verdict::{CaseVerdict, Passport, PassportCase};
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
    let (firsts, seconds) = (releases(first), releases(second));
    let (mut kernels, mut only_in_one) = (Vec::new(), Vec::new());
    for kernel in &first.kernels {
        match seconds.get(kernel.name.as_str()) {
            Some(release) => {
                kernels.push((kernel.name.clone(), kernel.release.clone(), (*release).clone()));
            }
            None => only_in_one.push(kernel.name.clone()),
        }
    }
    let others = second.kernels.iter().map(|kernel| &kernel.name);
    only_in_one.extend(others.filter(|name| !firsts.contains_key(name.as_str())).cloned());
    let (mut same, mut changes) = (0, Vec::new());
    let cases = cases(first, second);
    for (name, ..) in &kernels {
        for (case, both) in &cases {
            let verdict = |case: Option<&PassportCase>| -> Option<CaseVerdict> {
                case?.results.get(name).map(|result| result.verdict)
            };
            match both.map(verdict) {
                [None, None] => {}
                [first, second] if first == second => same += 1,
                [first, second] => changes.push(CaseChange {
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

/// The releases of a passport's kernels, by their names.
fn releases(passport: &Passport) -> HashMap<&str, &Option<String>> {
    // Of two with the same name the first counts.
    let kernels = passport.kernels.iter().rev();
    kernels.map(|kernel| (kernel.name.as_str(), &kernel.release)).collect()
}

/// A case by its name in both passports.
type Both<'p> = (String, [Option<&'p PassportCase>; 2]);

/// The cases of both by their names, each once: those of the first passport in its order, then what only the second has.
fn cases<'p>(first: &'p Passport, second: &'p Passport) -> Vec<Both<'p>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut cases: Vec<Both<'p>> = Vec::new();
    for (which, passport) in [first, second].into_iter().enumerate() {
        for case in &passport.cases {
            let name = case.name();
            let place = *places.entry(name.clone()).or_insert_with(|| {
                cases.push((name, [None, None]));
                cases.len() - 1
            });
            // Of two with the same name in one passport the first counts.
            let own = &mut cases[place].1[which];
            *own = own.or(Some(case));
        }
    }
    cases
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
