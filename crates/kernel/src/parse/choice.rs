//! Attributes that list all choices, with the active one in brackets, such as `queue/scheduler`.

/// The possible choices and the active one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The active choice.
    pub active: String,
    /// All choices, in the kernel's order.
    pub offered: Vec<String>,
}

/// Parses `none [mq-deadline] bfq`; `None` if nothing is in brackets. A single word without brackets,
/// such as `none` for a queue without alternatives, is the active choice.
#[must_use]
pub fn parse(text: &str) -> Option<Choice> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &str| word.trim_start_matches('[').trim_end_matches(']').to_owned();
    let active = match words.as_slice() {
        [only] => Some(*only),
        _ => words.iter().copied().find(|word| word.starts_with('[') && word.ends_with(']')),
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
    fn one_word_is_the_only_choice_and_several_need_brackets() {
        assert_eq!(parse("none\n").unwrap().active, "none");
        assert_eq!(parse("a b"), None);
        assert_eq!(parse(""), None);
    }
}
