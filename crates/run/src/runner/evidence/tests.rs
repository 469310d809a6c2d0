//! What groups of a run are called in its evidence.

use super::*;
use crate::runner::tests::fake_host::{FakeHost, group, hierarchy, trial};

#[test]
fn groups_of_the_study_have_its_names_and_the_rest_of_the_run_that_of_the_run() {
    for controllers in [&["cpu"][..], &["io"], &["cpu", "io"]] {
        let host = FakeHost::new();
        let mut ledger = host.ledger();
        let groups = ["a", "b", "b/inner"].map(|name| group(name, vec![]));
        let mut trial = trial(groups.into());
        trial.groups.push(GroupPlan { outside: true, ..group("beside", vec![]) });
        trial.hierarchies = vec![hierarchy(controllers.len() > 1, controllers)];
        let names = names(&host.tree(&mut ledger, &trial), &trial.groups);
        let all: Vec<(&str, &str)> =
            names.iter().map(|(path, name)| (path.as_str(), name.as_str())).collect();
        let of_study = [("/assay-test/a", "a"), ("/assay-test/b", "b")];
        let inner = ("/assay-test/b/inner", "b/inner");
        let expected = [&[("/assay-test", "assay-test")], &of_study[..], &[inner]].concat();
        assert_eq!(all, expected, "{controllers:?}");
    }
}
