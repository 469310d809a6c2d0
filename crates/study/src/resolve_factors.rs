//! A study under one combination of its factors, as far as these decide what runs.

use crate::syntax::{Bindings, Group, Study};
use crate::template::{factor_names, substitute};

impl Study {
    /// The same study with the names of workloads that run in its groups resolved. The checker has
    /// resolved them under every combination.
    #[must_use]
    pub fn under(&self, factors: &Bindings) -> Self {
        let mut study = self.clone();
        study.groups.iter_mut().for_each(|group| resolve(group, factors));
        study
    }

    /// Whether some group runs other workloads in one trial than in another, so that a promise about
    /// one of them has no meaning where it does not run.
    #[must_use]
    pub fn varies_what_runs(&self) -> bool {
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
    fn names_of_workloads_follow_the_factors_at_any_depth() {
        let (study, findings) = parse("study", TEXT, &|_| Err(String::new()));
        let study = study.unwrap_or_else(|| panic!("{findings:?}"));
        assert!(study.varies_what_runs());
        let under: Vec<_> = combinations(&study).iter().map(|one| study.under(one)).collect();
        assert_eq!(under[0].groups[0].run, ["one"]);
        assert_eq!(under[1].groups[0].run, ["two"]);
        assert_eq!(under[1].groups[0].groups[0].run, ["one", "of-two"]);
        assert!(under[1].runs("of-two") && !under[1].runs("of-one"));
        assert!(!under[1].varies_what_runs());
    }
}
