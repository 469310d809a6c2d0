//! `alone`: shares need at least two groups.

use assay_run_folder::RelationRecord;
use assay_verdict::Check;

use super::{Evidence, Scope, ValidityCheck};

/// A single group gets everything, whatever its weight: a promise of shares would be kept by
/// arithmetic and not by the kernel. `None` where there are several groups, or no shares.
pub(super) fn check(evidence: &Evidence<'_>) -> Option<ValidityCheck> {
    let shares = |relation: &RelationRecord| relation.kind().divides();
    let promised = evidence.promises.iter().any(|(_, relation)| shares(relation));
    let [group] = evidence.groups else { return None };
    promised.then(|| {
        let evidence = format!("`{group}` is the only measured group and shares with no other");
        let check = Check { check: "alone".to_owned(), ok: false, evidence };
        let summary = "a single group gets everything, whatever its weight";
        ValidityCheck { check, scope: Scope::Shares, proves: Some(("C-ALONE", summary)) }
    })
}
