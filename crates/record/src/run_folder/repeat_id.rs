//! Identifies a repeat of a trial by the name of its samples folder.

/// A repeat of a trial, both counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepeatId {
    /// The trial.
    pub trial: usize,
    /// The repeat.
    pub repeat: usize,
}

impl RepeatId {
    /// The repeat whose folder has this name, `trial-03-repeat-00`; `None` for any other folder.
    #[must_use]
    pub fn parse(folder: &str) -> Option<Self> {
        let (trial, repeat) = folder.strip_prefix("trial-")?.split_once("-repeat-")?;
        Some(Self { trial: trial.parse().ok()?, repeat: repeat.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_samples_folders_identify_the_repeat() {
        assert_eq!(RepeatId::parse("trial-03-repeat-10"), Some(RepeatId { trial: 3, repeat: 10 }));
        for other in ["trial-03", "trial-x-repeat-00", "trial-03-repeat-", "logs"] {
            assert_eq!(RepeatId::parse(other), None, "{other}");
        }
    }
}
