//! Attributes that list all choices and put brackets around the active one, such as
//! `queue/scheduler`.

/// What can be chosen and what is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The one in brackets.
    pub active: String,
    /// All of them, in the kernel's order.
    pub offered: Vec<String>,
}

/// Reads `none [mq-deadline] bfq`; `None` when nothing stands in brackets. A single word
/// without brackets, as `none` for a queue that offers nothing else, is its own choice.
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
    fn the_active_choice_stands_in_brackets() {
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
