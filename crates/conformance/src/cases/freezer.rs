//! freezer: the v1 hierarchy that stops groups. On v2 it is `cgroup.freeze`, in `core`.

use super::freeze;
use crate::case::{Case, Topic};
use crate::need::Need;

const FREEZER: Topic = Topic::new(
    "freezer",
    "Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst",
    &[Need::OnV1("freezer")],
);

pub(super) const CASES: &[Case] = &[
    FREEZER.case(
        "a-frozen-group-makes-no-progress",
        "A group whose freezer.state is FROZEN uses no CPU time.",
        freeze::stops,
    ),
    FREEZER.case(
        "a-thawed-group-goes-on",
        "A thawed group resumes where it stopped and receives the input sent meanwhile.",
        freeze::goes_on,
    ),
    FREEZER.case(
        "siblings-of-a-frozen-group-go-on",
        "Freezing a group does not affect its siblings.",
        freeze::sibling,
    ),
    FREEZER.case(
        "freezing-reaches-descendants",
        "Groups below a frozen group are frozen until it is thawed.",
        freeze::descendants,
    ),
    FREEZER.case(
        "newcomers-freeze",
        "A process moved into a frozen group freezes.",
        freeze::newcomer,
    ),
];
