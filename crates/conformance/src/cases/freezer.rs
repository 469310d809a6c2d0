//! freezer: the v1 hierarchy that stops groups. On v2 it is `cgroup.freeze`, in `core`.

use super::freeze;
use crate::case::Case;
use crate::need::Need;

const DOCUMENT: &str = "Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst";

pub(super) const CASES: &[Case] = &[
    Case {
        controller: "freezer",
        behaviour: "a-frozen-group-makes-no-progress",
        promise: "A group whose freezer.state is FROZEN uses no CPU time.",
        documented: DOCUMENT,
        needs: &[Need::OnV1("freezer")],
        run: freeze::stops,
    },
    Case {
        controller: "freezer",
        behaviour: "a-thawed-group-goes-on",
        promise: "A thawed group resumes where it stopped and receives the input sent meanwhile.",
        documented: DOCUMENT,
        needs: &[Need::OnV1("freezer")],
        run: freeze::goes_on,
    },
    Case {
        controller: "freezer",
        behaviour: "siblings-of-a-frozen-group-go-on",
        promise: "Freezing a group does not affect its siblings.",
        documented: DOCUMENT,
        needs: &[Need::OnV1("freezer")],
        run: freeze::sibling,
    },
    Case {
        controller: "freezer",
        behaviour: "freezing-reaches-descendants",
        promise: "Groups below a frozen group are frozen until it is thawed.",
        documented: DOCUMENT,
        needs: &[Need::OnV1("freezer")],
        run: freeze::descendants,
    },
    Case {
        controller: "freezer",
        behaviour: "newcomers-freeze",
        promise: "A process moved into a frozen group freezes.",
        documented: DOCUMENT,
        needs: &[Need::OnV1("freezer")],
        run: freeze::newcomer,
    },
];
