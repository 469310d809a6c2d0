//! Memory policies as users write them (set_mempolicy(2)).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::error::UnitError;
use crate::units::id_set::NodeSet;

const EXPECTED: &str = "a memory policy: `first touch`, `local`, `bind:0`, `preferred:1`, \
                        `preferred-many:0-1`, `interleave:0-1` or `weighted-interleave:0-1`";

/// A memory policy with its nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MemoryPolicy {
    /// The kernel's default: the node of the CPU that touches a page first; automatic balancing may
    /// move it later.
    FirstTouch,
    /// The node of the CPU that touches a page first.
    Local,
    /// These nodes and no others.
    Bind(NodeSet),
    /// One node, and others if it is full.
    Preferred(NodeSet),
    /// Some nodes, and others if they are full.
    PreferredMany(NodeSet),
    /// These nodes in turn, page by page.
    Interleave(NodeSet),
    /// These nodes in turn, by the weights in /sys/kernel/mm/mempolicy/weighted_interleave.
    WeightedInterleave(NodeSet),
}

impl MemoryPolicy {
    /// The nodes of the policy.
    #[must_use]
    pub const fn nodes(&self) -> Option<&NodeSet> {
        match self {
            Self::FirstTouch | Self::Local => None,
            Self::Bind(nodes)
            | Self::Preferred(nodes)
            | Self::PreferredMany(nodes)
            | Self::Interleave(nodes)
            | Self::WeightedInterleave(nodes) => Some(nodes),
        }
    }

    /// Its name without its nodes.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::FirstTouch => "first touch",
            Self::Local => "local",
            Self::Bind(_) => "bind",
            Self::Preferred(_) => "preferred",
            Self::PreferredMany(_) => "preferred-many",
            Self::Interleave(_) => "interleave",
            Self::WeightedInterleave(_) => "weighted-interleave",
        }
    }

    /// The text in /proc/PID/numa_maps (`mpol_to_str` in mm/mempolicy.c).
    #[must_use]
    pub fn as_kernel_shows(&self) -> String {
        let name = match self {
            Self::FirstTouch => "default",
            Self::Local => "local",
            Self::Bind(_) => "bind",
            Self::Preferred(_) => "prefer",
            Self::PreferredMany(_) => "prefer (many)",
            Self::Interleave(_) => "interleave",
            Self::WeightedInterleave(_) => "weighted interleave",
        };
        match self.nodes() {
            Some(nodes) => format!("{name}:{nodes}"),
            None => name.to_owned(),
        }
    }
}

impl FromStr for MemoryPolicy {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, EXPECTED);
        let text = text.trim();
        let Some((name, nodes)) = text.split_once(':') else {
            return match text {
                "first touch" | "first-touch" => Ok(Self::FirstTouch),
                "local" => Ok(Self::Local),
                _ => Err(error()),
            };
        };
        let nodes: NodeSet = nodes.parse().map_err(|_| error())?;
        match (name.trim(), nodes.len()) {
            (_, 0) => Err(error()),
            ("bind", _) => Ok(Self::Bind(nodes)),
            ("preferred", 1) => Ok(Self::Preferred(nodes)),
            ("preferred-many", _) => Ok(Self::PreferredMany(nodes)),
            ("interleave", _) => Ok(Self::Interleave(nodes)),
            ("weighted-interleave", _) => Ok(Self::WeightedInterleave(nodes)),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nodes() {
            Some(nodes) => write!(f, "{}:{nodes}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

impl TryFrom<String> for MemoryPolicy {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<MemoryPolicy> for String {
    fn from(policy: MemoryPolicy) -> Self {
        policy.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_prints_as_it_was_written() {
        for text in [
            "first touch",
            "local",
            "bind:0",
            "preferred:1",
            "preferred-many:0-1",
            "interleave:0-1",
            "weighted-interleave:0,2",
        ] {
            assert_eq!(text.parse::<MemoryPolicy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn missing_or_too_many_nodes_are_refused() {
        for text in ["bind", "bind:", "preferred:0-1", "interleaved:0-1", "local:0", ""] {
            let error = text.parse::<MemoryPolicy>().unwrap_err().to_string();
            assert!(error.contains("interleave:0-1"), "{error}");
        }
    }

    #[test]
    fn the_kernel_uses_different_names() {
        let shown = |text: &str| text.parse::<MemoryPolicy>().unwrap().as_kernel_shows();
        assert_eq!(shown("first touch"), "default");
        assert_eq!(shown("preferred:1"), "prefer:1");
        assert_eq!(shown("preferred-many:0-1"), "prefer (many):0-1");
        assert_eq!(shown("weighted-interleave:0-1"), "weighted interleave:0-1");
    }
}
