//! Choices of CPUs as users write them: by number or by topology.

use std::fmt;
use std::str::FromStr;

use crate::units::error::UnitError;
use crate::units::id_set::{CpuSet, NodeSet};

const EXPECTED: &str = "CPUs: a list such as `0-3,8`, `siblings`, `separate cores` (either with \
                        `:4` for the number of CPUs), or `node:0`";

/// A choice of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuChoice {
    /// These CPUs.
    List(CpuSet),
    /// This many CPUs that share cores; without a number all CPUs of one core.
    Siblings(Option<u16>),
    /// This many CPUs of different cores; without a number as many as share a core.
    SeparateCores(Option<u16>),
    /// The CPUs of these NUMA nodes.
    Nodes(NodeSet),
}

impl FromStr for CpuChoice {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, EXPECTED);
        let text = text.trim();
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name.trim(), Some(rest.trim())),
            None => (text, None),
        };
        let count = |rest: Option<&str>| {
            let parsed = rest.map(|rest| rest.parse::<u16>().ok().filter(|count| *count > 0));
            parsed.map_or(Ok(None), |count| count.map(Some).ok_or_else(error))
        };
        match name {
            "siblings" => count(rest).map(Self::Siblings),
            "separate cores" | "separate-cores" => count(rest).map(Self::SeparateCores),
            "node" => {
                let nodes: NodeSet = rest.ok_or_else(error)?.parse().map_err(|_| error())?;
                if nodes.is_empty() { Err(error()) } else { Ok(Self::Nodes(nodes)) }
            }
            _ => {
                let cpus: CpuSet = text.parse().map_err(|_| error())?;
                if cpus.is_empty() { Err(error()) } else { Ok(Self::List(cpus)) }
            }
        }
    }
}

impl fmt::Display for CpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(cpus) => cpus.fmt(f),
            Self::Siblings(None) => f.write_str("siblings"),
            Self::Siblings(Some(count)) => write!(f, "siblings:{count}"),
            Self::SeparateCores(None) => f.write_str("separate cores"),
            Self::SeparateCores(Some(count)) => write!(f, "separate cores:{count}"),
            Self::Nodes(nodes) => write!(f, "node:{nodes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_prints_as_it_was_written() {
        for text in ["0-3,8", "siblings", "siblings:4", "separate cores:2", "node:0-1"] {
            assert_eq!(text.parse::<CpuChoice>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn empty_and_invalid_choices_are_refused() {
        for text in ["", "all", "siblings:0", "siblings:x", "node", "node:", "3-1"] {
            let error = text.parse::<CpuChoice>().unwrap_err().to_string();
            assert!(error.contains("separate cores"), "{error}");
        }
    }
}
