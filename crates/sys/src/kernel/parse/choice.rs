//! Attributes that list all choices, with the active one in brackets, such as `queue/scheduler`, or in parentheses, as in
//! debugfs (`sched/cgroup_mode`).

/// The possible choices and the active one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The active choice.
    pub active: String,
    /// All choices, in the kernel's order.
    pub offered: Vec<String>,
}

const MARKS: [[char; 2]; 2] = [['[', ']'], ['(', ')']];

/// The word in brackets or parentheses.
fn marked(word: &str) -> Option<&str> {
    MARKS.iter().find_map(|[open, close]| word.strip_prefix(*open)?.strip_suffix(*close))
}

/// The active choice, or the whole text if it lists none.
#[must_use]
pub fn active(text: &str) -> &str {
    text.split_whitespace().find_map(marked).unwrap_or(text.trim())
}

/// Parses `none [mq-deadline] bfq`; `None` if nothing is in brackets. A single word without brackets,
/// such as `none` for a queue without alternatives, is the active choice.
#[must_use]
pub fn parse(text: &str) -> Option<Choice> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &str| marked(word).unwrap_or(word).to_owned();
    let active = match words.as_slice() {
        [only] => Some(*only),
        _ => words.iter().copied().find(|word| marked(word).is_some()),
    }?;
    Some(Choice { active: bare(active), offered: words.iter().map(|word| bare(word)).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_choice_is_in_brackets() {
        let choice = parse("none mq-deadline [bfq] \n").unwrap();
        assert_eq!(choice.active, "bfq");
        assert_eq!(choice.offered, ["none", "mq-deadline", "bfq"]);
    }

    #[test]
    fn debugfs_puts_it_in_parentheses() {
        let choice = parse("up smp (concur) max tasks \n").unwrap();
        assert_eq!((choice.active.as_str(), choice.offered.len()), ("concur", 5));
        assert_eq!(active("up smp (concur) max tasks \n"), "concur");
        assert_eq!(active("always [madvise] never"), "madvise");
        assert_eq!(active("60\n"), "60");
        assert_eq!(active("50000 100000\n"), "50000 100000");
    }

    #[test]
    fn one_word_is_the_only_choice_and_several_need_brackets() {
        assert_eq!(parse("none\n").unwrap().active, "none");
        assert_eq!(parse("a b"), None);
        assert_eq!(parse(""), None);
    }
}
