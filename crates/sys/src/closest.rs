//! Suggestions for misspelt names.

/// The candidate closest to `name`, if it is close enough to be a typing mistake: at most one edit
/// for every three letters. Case is ignored, since `IODepth` for `iodepth` is a habit rather than a
/// mistake.
pub fn closest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let folded = name.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(&folded, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed_edits(&folded, candidate))
        .min_by_key(|(distance, candidate)| (*distance, candidate.len().abs_diff(name.len())))
        .map(|(_, candidate)| candidate)
}

fn allowed_edits(name: &str, candidate: &str) -> usize {
    let shorter = name.chars().count().min(candidate.chars().count());
    shorter.div_ceil(3).min(3)
}

/// Edits of which a swap of neighbours is one. Texts are compared up to 64 characters; longer ones are never close.
fn edit_distance(left: &str, right: &str) -> usize {
    let head = |text: &str| text.chars().take(64).collect::<String>();
    strsim::osa_distance(&head(left), &head(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: [&str; 5] = ["iodepth", "ioengine", "direct", "rw", "size"];

    #[test]
    fn finds_the_intended_name() {
        for (typed, meant) in
            [("iodeph", "iodepth"), ("IODepth", "iodepth"), ("ioegnine", "ioengine"), ("wr", "rw")]
        {
            assert_eq!(closest(typed, OPTIONS), Some(meant), "{typed}");
        }
    }

    #[test]
    fn finds_nothing_if_no_name_is_close() {
        for typed in ["", "bandwidth", "x", "runtime_limit"] {
            assert_eq!(closest(typed, OPTIONS), None, "{typed}");
        }
    }
}
