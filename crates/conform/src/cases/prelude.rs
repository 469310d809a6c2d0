//! What the cases are made of: their vocabulary, and judgements that several of them share.

pub(crate) use assay_sys::kernel::Error;
pub(crate) use rustix::io::Errno;

pub(crate) use crate::case::{Case, Need, Topic};
pub(crate) use crate::errno_name::{errno_of, errno_text};
pub(crate) use crate::fixture::{Fixture, keyed};
pub(crate) use crate::outcome::{Outcome, Stop, Verdict};
pub(crate) use crate::running::Running;
pub(crate) use crate::windows::{Interval, Window, against_weights, first_shares, mean_busy};

/// The answer to a request that the kernel must accept (`None`) or refuse.
pub(crate) fn answered(what: &str, answer: Option<Errno>, expected: Option<Errno>) -> Outcome {
    let (got, wanted) = (errno_text(answer), errno_text(expected));
    Outcome::holds(answer == expected, format!("{what}: {got}, expected {wanted}"))
}

/// The answers to a request that is allowed and to one that must be refused, each with its name.
pub(crate) fn refused(
    allowed: (&str, Option<Errno>),
    refused: (&str, Option<Errno>),
    expected: Errno,
) -> Outcome {
    let right = allowed.1.is_none() && refused.1 == Some(expected);
    let [one, other] = [allowed, refused].map(|(what, got)| format!("{what}: {}", errno_text(got)));
    Outcome::holds(right, format!("{one}; {other}, to be {}", errno_text(Some(expected))))
}

/// The content of a file in one line.
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\n', "; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusing_too_early_too_late_or_with_another_errno_is_broken() {
        let judge = |a, b| refused(("x", a), ("y", b), Errno::AGAIN).verdict;
        assert_eq!(judge(None, Some(Errno::AGAIN)), Verdict::Kept);
        assert_eq!(judge(Some(Errno::AGAIN), Some(Errno::AGAIN)), Verdict::Broken);
        assert_eq!(judge(None, None), Verdict::Broken);
        assert_eq!(judge(None, Some(Errno::NOSPC)), Verdict::Broken);
    }

    #[test]
    fn an_unexpected_answer_is_broken() {
        let (perm, inval) = (Some(Errno::PERM), Some(Errno::INVAL));
        assert_eq!(answered("x", perm, perm).verdict, Verdict::Kept);
        assert_eq!(answered("x", None, None).verdict, Verdict::Kept);
        for (answer, expected) in [(None, perm), (inval, perm), (inval, None)] {
            assert_eq!(answered("x", answer, expected).verdict, Verdict::Broken);
        }
    }
}
