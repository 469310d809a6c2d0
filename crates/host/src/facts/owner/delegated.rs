//! Groups that others than root of the host may make, and so give any name.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::Owner;

/// Who may have named a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claimant {
    /// A user, who owns a directory of groups.
    Uid(u32),
    /// Members of a group of users, who may write to a directory of groups.
    Gid(u32),
    /// Anyone: a directory of groups is writable for all.
    Everyone,
    /// Someone: a directory of groups could not be looked at, as when it was removed meanwhile.
    Unknown,
    /// Root of a container or machine: what is below its group was made in it.
    Container(Box<Owner>),
}

/// A claimant as any version has written it: formerly only users were told, by their numbers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum WrittenClaimant {
    /// The number of a user.
    Uid(u32),
    /// As it is written now.
    Any(Claimant),
}

impl From<WrittenClaimant> for Claimant {
    fn from(written: WrittenClaimant) -> Self {
        match written {
            WrittenClaimant::Uid(uid) => Self::Uid(uid),
            WrittenClaimant::Any(claimant) => claimant,
        }
    }
}

pub(super) fn claimant<'de, D: Deserializer<'de>>(from: D) -> Result<Claimant, D::Error> {
    WrittenClaimant::deserialize(from).map(Claimant::from)
}

impl fmt::Display for Claimant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uid(uid) => write!(f, "uid {uid}"),
            Self::Gid(gid) => write!(f, "gid {gid}"),
            Self::Everyone => f.write_str("everyone"),
            Self::Unknown => f.write_str("someone unknown"),
            Self::Container(owner) => owner.fmt(f),
        }
    }
}

/// Which groups of a path are not named by the host's administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegated {
    /// Levels from the top whose names the host's administrator has chosen.
    pub levels: usize,
    /// Who chooses those below.
    pub by: Claimant,
}

impl Delegated {
    /// By the path alone: what logind keeps for a user is root's down to `user@UID.service` and `session-N.scope`, and the user's
    /// below.
    pub(super) fn by_path(parts: &[&str]) -> Option<Self> {
        const LEVELS: usize = 3;
        let ["user.slice", slice, _, _, ..] = parts else { return None };
        let uid = slice.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok()?;
        (uid != 0).then_some(Self { levels: LEVELS, by: Claimant::Uid(uid) })
    }

    /// What is below the group of a container, at this many levels. One of systemd-nspawn is a unit, as is a machine that
    /// systemd-machined has registered: their names are those of its own manager.
    pub(super) fn inside(owner: &Owner, levels: usize) -> Option<Self> {
        let is_container = match owner {
            Owner::Container(_) | Owner::Lxc { .. } | Owner::Machine { .. } => true,
            Owner::Unit { name } => is_machine(name),
            _ => false,
        };
        is_container.then(|| Self { levels, by: Claimant::Container(Box::new(owner.clone())) })
    }

    /// The one that begins higher up; of two at the same level the first.
    pub(super) fn topmost(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().min_by_key(|one| one.levels)
    }
}

fn is_machine(unit: &str) -> bool {
    [("machine-", ".scope"), ("systemd-nspawn@", ".service")]
        .iter()
        .any(|(start, end)| unit.starts_with(start) && unit.ends_with(end))
}

/// Ranks of groups by which one claimant has as much room as another where not all have some, after those of the host: the first
/// of each, then the second of each. What is above a group has no higher rank if it is asked for before.
#[derive(Debug, Default)]
pub struct Ranks(HashMap<Claimant, usize>);

impl Ranks {
    /// That of the next group of a claimant, or of the host.
    pub fn next(&mut self, by: Option<Claimant>) -> usize {
        by.map_or(0, |by| {
            let had = self.0.entry(by).or_default();
            *had += 1;
            *had
        })
    }
}
