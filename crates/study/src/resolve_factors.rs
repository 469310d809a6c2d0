//! Resolves templates for one combination of factors.

use crate::syntax::{Bindings, Group, Study};
use crate::template::{factor_names, substitute};

impl Study {
    /// The study for one trial: names of workloads that its groups run are resolved. The checker
    /// has resolved them under every combination.
    #[must_use]
    pub fn for_trial(&self, factors: &Bindings) -> Self {
        let mut study = self.clone();
        study.groups.iter_mut().for_each(|group| resolve(group, factors));
        study
    }

    /// Whether the workloads of some group depend on a factor, so that a promise about one of them
    /// does not apply to every trial.
    #[must_use]
    pub fn has_varying_workloads(&self) -> bool {
        self.groups.iter().any(varies)
    }

    /// Whether any group runs this workload.
    #[must_use]
    pub fn runs(&self, workload: &str) -> bool {
        self.groups.iter().any(|group| runs(group, workload))
    }
}

fn resolve(group: &mut Group, factors: &Bindings) {
    for name in &mut group.run {
        if let Ok(resolved) = substitute(name, factors) {
            *name = resolved.to_string();
        }
    }
    group.groups.iter_mut().for_each(|inner| resolve(inner, factors));
}

fn varies(group: &Group) -> bool {
    let has_template = |name: &String| factor_names(name).next().is_some();
    group.run.iter().any(has_template) || group.groups.iter().any(varies)
}

fn runs(group: &Group, workload: &str) -> bool {
    group.run.iter().any(|name| name == workload)
        || group.groups.iter().any(|inner| runs(inner, workload))
}

#[cfg(test)]
mod tests {
    use crate::{combinations, parse};

    const TEXT: &str = r#"
title = "Programs as levels"
[factors]
program = ["one", "two"]
[design]
repeats = 1
[[groups]]
name = "task"
run  = "{program}"
[[groups.groups]]
name = "inner"
run  = ["one", "of-{program}"]
[workloads.one]
use = "spin"
[workloads.two]
use = "spin"
[workloads.of-one]
use = "spin"
[workloads.of-two]
use = "spin"
"#;

    #[test]
    fn names_of_workloads_are_resolved_at_any_depth() {
        let (study, findings) = parse("study", TEXT, &|_| Err(String::new()));
        let study = study.unwrap_or_else(|| panic!("{findings:?}"));
        assert!(study.has_varying_workloads());
        let trials: Vec<_> = combinations(&study).iter().map(|one| study.for_trial(one)).collect();
        assert_eq!(trials[0].groups[0].run, ["one"]);
        assert_eq!(trials[1].groups[0].run, ["two"]);
        assert_eq!(trials[1].groups[0].groups[0].run, ["one", "of-two"]);
        assert!(trials[1].runs("of-two") && !trials[1].runs("of-one"));
        assert!(!trials[1].has_varying_workloads());
    }
}
