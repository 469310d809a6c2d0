//! Groups that a user may make, and so give any name.

/// Which groups of a path are a user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delegated {
    /// Levels from the top whose names the host's administrator has chosen.
    pub levels: usize,
    /// The user who chooses those below.
    pub uid: u32,
}

impl Delegated {
    /// By the path alone: what logind keeps for a user is root's down to `user@UID.service` and `session-N.scope`, and the user's
    /// below.
    pub(super) fn by_path(parts: &[&str]) -> Option<Self> {
        const LEVELS: usize = 3;
        let ["user.slice", slice, _, _, ..] = parts else { return None };
        let uid = slice.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok()?;
        (uid != 0).then_some(Self { levels: LEVELS, uid })
    }
}
