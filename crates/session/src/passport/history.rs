//! What a case's verdicts say along the releases.

use assay_verdict::{CaseSpan, CaseVerdict};

use super::release::Release;

/// One kernel's verdict.
#[derive(Debug)]
pub(super) struct Cell<'c> {
    /// How sentences call the kernel.
    pub(super) label: String,
    pub(super) release: Option<Release>,
    pub(super) layout: Option<&'c str>,
    pub(super) verdict: CaseVerdict,
}

/// The verdicts along the releases, from cells in that order. What differs between layouts says nothing of releases:
/// each layout has its own spans then. There are none where kernels of one layout differ whose order is not known.
pub(super) fn history(cells: &[Cell<'_>]) -> Vec<CaseSpan> {
    let decided: Vec<_> = cells.iter().filter(|cell| cell.verdict.is_decided()).collect();
    let pairs = decided.iter().flat_map(|one| decided.iter().map(move |other| (*one, *other)));
    let (alike, apart): (Vec<_>, Vec<_>) = pairs
        .filter(|(one, other)| one.verdict != other.verdict)
        .partition(|(one, other)| one.layout == other.layout);
    if !alike.iter().all(|(one, other)| is_ordered(one, other)) {
        return Vec::new();
    }
    if apart.is_empty() {
        return spans(None, cells.iter());
    }
    let mut layouts: Vec<&str> = Vec::new();
    for layout in cells.iter().filter_map(|cell| cell.layout) {
        if !layouts.contains(&layout) {
            layouts.push(layout);
        }
    }
    // A kernel without any result has no layout, and is a gap in each.
    let of = |layout| cells.iter().filter(move |cell| cell.layout.is_none_or(|own| own == layout));
    layouts.into_iter().flat_map(|layout| spans(Some(layout), of(layout))).collect()
}

fn is_ordered(one: &Cell<'_>, other: &Cell<'_>) -> bool {
    match (&one.release, &other.release) {
        (Some(first), Some(second)) => first.is_before(second) || second.is_before(first),
        _ => false,
    }
}

/// Neighbours with one verdict become one span.
fn spans<'c, 'r: 'c>(
    layout: Option<&str>,
    cells: impl Iterator<Item = &'c Cell<'r>>,
) -> Vec<CaseSpan> {
    let mut spans: Vec<CaseSpan> = Vec::new();
    for Cell { label, verdict, .. } in cells {
        match spans.last_mut().filter(|span| span.verdict == *verdict) {
            Some(span) => span.last.clone_from(label),
            None => spans.push(CaseSpan {
                layout: layout.map(str::to_owned),
                verdict: *verdict,
                first: label.clone(),
                last: label.clone(),
            }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use CaseVerdict::{Broken, Kept, Undecided};

    use super::*;

    /// The spans of kernels with these releases, layouts and verdicts: `v2: kept 5.10.0 to 6.1.0`.
    fn spans_of(kernels: &[(&str, &'static str, CaseVerdict)]) -> Vec<String> {
        let cell = |(release, layout, verdict): &(&str, &'static str, CaseVerdict)| Cell {
            label: (*release).to_owned(),
            release: Some(Release::new(release)),
            layout: Some(*layout),
            verdict: *verdict,
        };
        let spans = history(&kernels.iter().map(cell).collect::<Vec<_>>());
        let text = |CaseSpan { layout, verdict, first, last }: &CaseSpan| {
            let layout = layout.as_deref().unwrap_or("all");
            format!("{layout}: {} {first} to {last}", verdict.word())
        };
        spans.iter().map(text).collect()
    }

    #[test]
    fn along_one_layout_neighbours_are_spans() {
        let kernels = [("5.10.0", "v2", Kept), ("6.1.0", "v2", Kept), ("6.12.1", "v2", Broken)];
        assert_eq!(
            spans_of(&kernels),
            ["all: kept 5.10.0 to 6.1.0", "all: broken 6.12.1 to 6.12.1"]
        );
    }

    #[test]
    fn layouts_that_differ_have_spans_of_their_own() {
        let mut kernels =
            [("5.10.0", "v2", Kept), ("6.1.0", "hybrid", Broken), ("6.12.1", "v2", Kept)];
        assert_eq!(
            spans_of(&kernels),
            ["v2: kept 5.10.0 to 6.12.1", "hybrid: broken 6.1.0 to 6.1.0"]
        );
        kernels[1].2 = Kept;
        assert_eq!(spans_of(&kernels), ["all: kept 5.10.0 to 6.12.1"]);
        kernels[1].2 = Undecided;
        assert_eq!(spans_of(&kernels).len(), 3, "a gap between two");
    }

    #[test]
    fn without_a_known_order_nothing_is_spans_of() {
        let debian = ("6.1.0-56-amd64", "v2", Kept);
        assert_eq!(spans_of(&[debian, ("6.1.50", "v2", Broken)]), [""; 0]);
        assert_eq!(spans_of(&[debian, ("6.1.50", "v2", Kept)]).len(), 1, "they agree");
        assert_eq!(spans_of(&[("6.1.0", "v2", Kept), ("6.1.0", "v2", Broken)]), [""; 0]);
        // Not between neighbours only: 56 may be later than 6.1.60.
        let far = [debian, ("6.1.50", "v2", Kept), ("6.1.60", "v2", Broken)];
        assert_eq!(spans_of(&far), [""; 0]);
        assert_eq!(spans_of(&[debian, ("6.12.1", "v2", Broken)]).len(), 2);
    }
}
