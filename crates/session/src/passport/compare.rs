//! Two passports: what changed, kernel by kernel.

use std::collections::HashMap;

use assay_verdict::{CaseVerdict, Passport, PassportCase, PassportKernel};
use serde::Serialize;

use crate::code::Code;

/// What two passports say of the kernels that both have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassportComparison {
    /// Format version: 1.
    pub schema: u32,
    /// Kernels of both, by name.
    pub kernels: Vec<ComparedKernel>,
    /// Kernels of only one.
    pub only_in_one: Vec<String>,
    /// Results of both that say the same.
    pub same: usize,
    /// Results that differ.
    pub changes: Vec<CaseChange>,
}

/// A kernel of both passports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComparedKernel {
    /// Its name.
    pub name: String,
    /// Its release in the first passport.
    pub release: Option<String>,
    /// Whether release, layout, machine, build and Assay are the same: only then can results contradict each other.
    pub is_same: bool,
    /// What differs between the passports.
    pub differences: Vec<PassportDifference>,
}

/// Something that differs between two passports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassportDifference {
    /// What: `release`, `layout`, `machine`, `build`, `Assay` or `patience`.
    pub what: String,
    /// In the first passport.
    pub first: String,
    /// In the second.
    pub second: String,
}

/// A case whose result differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaseChange {
    /// The kernel's name.
    pub kernel: String,
    /// `controller/behaviour`.
    pub case: String,
    /// How it differs.
    pub kind: ChangeKind,
    /// The first passport's verdict; `None` if it has no result.
    pub first: Option<CaseVerdict>,
    /// The second's.
    pub second: Option<CaseVerdict>,
}

/// How a result differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// The same kernel was found to keep it once, and to break it once.
    Contradiction,
    /// Kept in one and broken in the other, by another kernel or under other conditions.
    Changed,
    /// Kept or broken in one passport only.
    DecidedInOne,
    /// Neither kept nor broken in either.
    NotDecided,
}

impl PassportComparison {
    /// 1 if a verdict is contradicted, 3 if what is decided differs, a kernel is in one passport only, or nothing could
    /// be compared, else 0.
    #[must_use]
    pub fn code(&self) -> Code {
        use ChangeKind::{Changed, Contradiction, DecidedInOne};
        let has = |kind| self.count(kind) > 0;
        let is_empty = self.same == 0 && self.changes.is_empty();
        match () {
            () if has(Contradiction) => Code::Broken,
            () if has(Changed) || has(DecidedInOne) => Code::Undecided,
            () if is_empty || !self.only_in_one.is_empty() => Code::Undecided,
            () => Code::Kept,
        }
    }

    fn count(&self, kind: ChangeKind) -> usize {
        self.changes.iter().filter(|change| change.kind == kind).count()
    }

    /// The comparison for readers; contradictions come first.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = self.kernels.iter().map(ComparedKernel::line).collect();
        lines.extend(self.only_in_one.iter().map(|name| format!("{name}: only in one passport")));
        if self.kernels.is_empty() {
            lines.push("no kernel is in both passports: there is nothing to compare".to_owned());
        }
        let mut changes: Vec<&CaseChange> = self.changes.iter().collect();
        changes.sort_by_key(|change| change.kind);
        lines.extend(changes.into_iter().map(CaseChange::line));
        lines.push(format!(
            "{} results are the same, {} contradict each other, {} changed with the kernel or its conditions, {} are \
             decided in one passport only, {} differ without being decided",
            self.same,
            self.count(ChangeKind::Contradiction),
            self.count(ChangeKind::Changed),
            self.count(ChangeKind::DecidedInOne),
            self.count(ChangeKind::NotDecided),
        ));
        lines.join("\n")
    }
}

impl ComparedKernel {
    fn line(&self) -> String {
        let release = self.release.as_deref().unwrap_or("unknown");
        let differences =
            self.differences.iter().map(|PassportDifference { what, first, second }| {
                format!("; {what} {first}, then {second}")
            });
        format!("{}: Linux {release}{}", self.name, differences.collect::<String>())
    }

    fn of(first: (&Passport, &PassportKernel), second: (&Passport, &PassportKernel)) -> Self {
        let conditions = |(passport, kernel): (&Passport, &PassportKernel)| {
            let patience = kernel.patience.map(|factor| factor.to_string());
            [
                ("release", kernel.release.clone()),
                ("layout", kernel.layout.clone()),
                ("machine", kernel.machine.clone()),
                ("build", kernel.build.clone()),
                ("Assay", Some(passport.assay.clone())),
                (PATIENCE, patience),
            ]
        };
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        let differences: Vec<PassportDifference> = conditions(first)
            .into_iter()
            .zip(conditions(second))
            .filter(|(one, other)| one != other)
            .map(|((what, one), (_, other))| PassportDifference {
                what: what.to_owned(),
                first: or_none(one),
                second: or_none(other),
            })
            .collect();
        Self {
            name: first.1.name.clone(),
            release: first.1.release.clone(),
            is_same: differences.iter().all(|one| one.what == PATIENCE),
            differences,
        }
    }
}

/// More time for a case does not change what a kernel promises.
const PATIENCE: &str = "patience";

impl CaseChange {
    fn line(&self) -> String {
        let word = |verdict: Option<CaseVerdict>| verdict.map_or("no result", CaseVerdict::word);
        let (first, second) = (word(self.first), word(self.second));
        format!("  {}: {} {first}, then {second}", self.kernel, self.case)
    }
}

/// Compares two passports, kernels and cases by their names.
///
/// ```no_run
/// use assay_session::{compare_passports, read_passport};
/// let comparison = compare_passports(&read_passport("a".as_ref())?, &read_passport("b".as_ref())?);
/// println!("{}", comparison.text());
/// # Ok::<(), assay_session::Error>(())
/// ```
#[must_use]
pub fn compare_passports(first: &Passport, second: &Passport) -> PassportComparison {
    let (firsts, seconds) = (by_name(first), by_name(second));
    let (mut kernels, mut only_in_one) = (Vec::new(), Vec::new());
    for kernel in &first.kernels {
        match seconds.get(kernel.name.as_str()) {
            Some(other) => kernels.push(ComparedKernel::of((first, kernel), (second, other))),
            None => only_in_one.push(kernel.name.clone()),
        }
    }
    let others = second.kernels.iter().map(|kernel| &kernel.name);
    only_in_one.extend(others.filter(|name| !firsts.contains_key(name.as_str())).cloned());
    let (mut same, mut changes) = (0, Vec::new());
    let cases = cases(first, second);
    for kernel in &kernels {
        for (case, both) in &cases {
            let verdict = |case: Option<&PassportCase>| -> Option<CaseVerdict> {
                case?.results.get(&kernel.name).map(|result| result.verdict)
            };
            match both.map(verdict) {
                [None, None] => {}
                [first, second] if first == second => same += 1,
                [first, second] => changes.push(CaseChange {
                    kernel: kernel.name.clone(),
                    case: case.clone(),
                    kind: kind(kernel.is_same, first, second),
                    first,
                    second,
                }),
            }
        }
    }
    PassportComparison { schema: 1, kernels, only_in_one, same, changes }
}

/// How two verdicts that are not the same differ.
fn kind(is_same: bool, first: Option<CaseVerdict>, second: Option<CaseVerdict>) -> ChangeKind {
    let is_decided = |verdict: Option<CaseVerdict>| verdict.is_some_and(CaseVerdict::is_decided);
    match (is_decided(first), is_decided(second)) {
        (true, true) if is_same => ChangeKind::Contradiction,
        (true, true) => ChangeKind::Changed,
        (false, false) => ChangeKind::NotDecided,
        _ => ChangeKind::DecidedInOne,
    }
}

/// A passport's kernels by their names.
fn by_name(passport: &Passport) -> HashMap<&str, &PassportKernel> {
    // Of two with the same name the first counts.
    let kernels = passport.kernels.iter().rev();
    kernels.map(|kernel| (kernel.name.as_str(), kernel)).collect()
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
        use CaseVerdict::{Broken, Kept, NotAvailable, Undecided, Void};
        let of = |first: &[CaseVerdict], second: &[CaseVerdict]| {
            compare_passports(&passport(&[("host", first)]), &passport(&[("host", second)]))
        };
        let all = of(&[Kept, Kept, Kept, Void], &[Kept, Undecided, Broken, NotAvailable]);
        assert_eq!((all.same, all.changes.len(), all.code()), (1, 3, Code::Broken));
        let text = all.text();
        let order: Vec<&str> = text.lines().map(|line| &line[..line.len().min(15)]).collect();
        assert_eq!(order[1..4], ["  host: cpu/c k", "  host: cpu/b k", "  host: cpu/d v"]);
        assert!(text.contains("host: cpu/c kept, then broken"), "{text}");
        assert!(text.ends_with("1 differ without being decided"), "{text}");
        assert_eq!(of(&[Kept], &[Undecided]).code(), Code::Undecided);
        assert_eq!(of(&[Void, Kept], &[NotAvailable, Kept]).code(), Code::Kept, "nothing decided");
        assert_eq!(of(&[Kept], &[Kept]).code(), Code::Kept);
    }

    type Change = dyn Fn(&mut Passport);

    #[test]
    fn another_kernel_or_other_conditions_change_results_and_do_not_contradict() {
        use CaseVerdict::{Broken, Kept};
        let first = passport(&[("host", &[Kept])]);
        let compared = |change: &Change| {
            let mut second = passport(&[("host", &[Broken])]);
            change(&mut second);
            let comparison = compare_passports(&first, &second);
            (comparison.code(), comparison.text())
        };
        let conditions: [(&str, &Change); 5] = [
            ("release 6.1.0, then 6.2", &|made| made.kernels[0].release = Some("6.2".to_owned())),
            ("layout v2, then v1", &|made| made.kernels[0].layout = Some("v1".to_owned())),
            ("machine none, then KVM", &|made| made.kernels[0].machine = Some("KVM".to_owned())),
            ("build none, then b", &|made| made.kernels[0].build = Some("b".to_owned())),
            ("Assay 0, then 1", &|made| made.assay = "1".to_owned()),
        ];
        for (says, change) in conditions {
            let (code, text) = compared(change);
            assert_eq!(code, Code::Undecided, "{text}");
            assert!(text.contains(says) && text.contains("1 changed with"), "{text}");
        }
        let (code, text) = compared(&|made| made.kernels[0].patience = Some(3.0));
        assert_eq!(code, Code::Broken, "{text}");
        assert!(text.contains("patience 1, then 3"), "{text}");
    }

    #[test]
    fn what_is_in_one_passport_only_is_not_the_same() {
        let of = |kernels: &[&'static str]| {
            let kept: &[CaseVerdict] = &[CaseVerdict::Kept];
            passport(&kernels.iter().map(|name| (*name, kept)).collect::<Vec<_>>())
        };
        let apart = compare_passports(&of(&["host"]), &of(&["debian-6.1"]));
        assert_eq!(apart.code(), Code::Undecided);
        assert!(apart.text().contains("no kernel is in both"), "{}", apart.text());
        let more = compare_passports(&of(&["host"]), &of(&["host", "debian-6.1"]));
        assert_eq!(
            (more.code(), &more.only_in_one[..]),
            (Code::Undecided, &["debian-6.1".to_owned()][..])
        );
        let empty = passport(&[("host", &[])]);
        assert_eq!(compare_passports(&empty, &empty).code(), Code::Undecided, "no result at all");
    }
}
