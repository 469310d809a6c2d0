//! The sentence of a case: since which release its promise is kept or broken.

use super::{CaseSpan, CaseVerdict};

const NOT_DECIDED: &str = "not decided";

/// What the spans of a case say; those of several layouts one after the other.
pub(super) fn of(history: &[CaseSpan]) -> String {
    let sentences: Vec<String> = history
        .chunk_by(|one, next| one.layout == next.layout)
        .map(|spans| match &spans[0].layout {
            Some(layout) => format!("{layout}: {}", sentence(spans)),
            None => sentence(spans),
        })
        .collect();
    if sentences.is_empty() { NOT_DECIDED.to_owned() } else { sentences.join(" / ") }
}

/// What releases say along their order.
fn sentence(spans: &[CaseSpan]) -> String {
    let stretches = stretches(spans);
    match stretches.split_last() {
        None => NOT_DECIDED.to_owned(),
        Some((only, [])) => only.alone(),
        Some((last, before)) => {
            let mut parts = vec![last.since()];
            parts.extend(before.iter().rev().map(Stretch::range));
            parts.join("; ")
        }
    }
}

/// Spans with one verdict together, with the gaps before each and inside of it, and those at the end.
fn stretches(spans: &[CaseSpan]) -> Vec<Stretch<'_>> {
    let mut all: Vec<Stretch<'_>> = Vec::new();
    let mut gaps: Vec<String> = Vec::new();
    for span in spans {
        if !span.verdict.is_decided() {
            gaps.push(span.releases());
            continue;
        }
        let before = std::mem::take(&mut gaps);
        match all.last_mut().filter(|last| last.verdict == span.verdict) {
            Some(last) => {
                last.last = &span.last;
                last.gaps.extend(before);
            }
            None => all.push(Stretch {
                verdict: span.verdict,
                first: &span.first,
                last: &span.last,
                is_after_gap: !before.is_empty(),
                gaps: before,
            }),
        }
    }
    if let Some(last) = all.last_mut() {
        last.gaps.extend(gaps);
    }
    all
}

impl CaseSpan {
    fn releases(&self) -> String {
        match self.first == self.last {
            true => self.first.clone(),
            false => format!("{} to {}", self.first, self.last),
        }
    }
}

/// Releases with one verdict, and those beside and between them that decided nothing.
struct Stretch<'h> {
    verdict: CaseVerdict,
    first: &'h str,
    last: &'h str,
    /// Whether the release before the first decided nothing.
    is_after_gap: bool,
    gaps: Vec<String>,
}

impl Stretch<'_> {
    /// Where no other verdict was found: `in all` only if every release has this one.
    fn alone(&self) -> String {
        match self.first != self.last && self.gaps.is_empty() {
            true => format!("{} in all, {} to {}", self.verdict.word(), self.first, self.last),
            false => self.range(),
        }
    }

    fn range(&self) -> String {
        let (word, gaps) = (self.verdict.word(), self.gaps());
        match self.first == self.last {
            true => format!("{word} in {}{gaps}", self.first),
            false => format!("{word} from {} to {}{gaps}", self.first, self.last),
        }
    }

    /// Of the newest: after a gap it may have begun in there.
    fn since(&self) -> String {
        let when = if self.is_after_gap { "by" } else { "since" };
        format!("{} {when} {}{}", self.verdict.word(), self.first, self.gaps())
    }

    fn gaps(&self) -> String {
        match self.gaps.is_empty() {
            true => String::new(),
            false => format!(" ({} not decided)", self.gaps.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(layout: Option<&str>, verdict: CaseVerdict, first: &str, last: &str) -> CaseSpan {
        let layout = layout.map(str::to_owned);
        CaseSpan { layout, verdict, first: first.to_owned(), last: last.to_owned() }
    }

    fn since(spans: &[(CaseVerdict, &str, &str)]) -> String {
        let spans = spans.iter().map(|(verdict, first, last)| span(None, *verdict, first, last));
        of(&spans.collect::<Vec<_>>())
    }

    #[test]
    fn a_history_is_one_sentence() {
        use CaseVerdict::{Broken, Kept};
        assert_eq!(since(&[]), "not decided");
        assert_eq!(since(&[(Kept, "6.1", "6.1")]), "kept in 6.1");
        assert_eq!(since(&[(Broken, "5.10", "6.18")]), "broken in all, 5.10 to 6.18");
        let mended = [(Kept, "5.10", "6.12"), (Broken, "6.18", "6.18"), (Kept, "7.1", "7.3")];
        assert_eq!(since(&mended), "kept since 7.1; broken in 6.18; kept from 5.10 to 6.12");
    }

    #[test]
    fn releases_that_decided_nothing_are_named() {
        use CaseVerdict::{Broken, Kept, Undecided, Void};
        assert_eq!(since(&[(Void, "6.1", "6.1")]), "not decided");
        let changed =
            [(Kept, "5.10", "6.1"), (Undecided, "6.12", "6.12"), (Broken, "6.18", "6.18")];
        assert_eq!(since(&changed), "broken by 6.18 (6.12 not decided); kept from 5.10 to 6.1");
        let inside = [(Kept, "5.10", "5.10"), (Void, "6.1", "6.12"), (Kept, "6.18", "6.18")];
        assert_eq!(since(&inside), "kept from 5.10 to 6.18 (6.1 to 6.12 not decided)");
        let newest = [(Kept, "5.10", "5.10"), (Broken, "6.1", "6.1"), (Undecided, "7.1", "7.1")];
        assert_eq!(since(&newest), "broken since 6.1 (7.1 not decided); kept in 5.10");
    }

    #[test]
    fn layouts_are_told_apart() {
        use CaseVerdict::{Broken, Kept};
        let history = vec![
            span(Some("v2"), Kept, "5.10", "5.10"),
            span(Some("v2"), Broken, "6.1", "6.1"),
            span(Some("hybrid"), Kept, "6.1", "6.1"),
        ];
        assert_eq!(of(&history), "v2: broken since 6.1; kept in 5.10 / hybrid: kept in 6.1");
    }
}
