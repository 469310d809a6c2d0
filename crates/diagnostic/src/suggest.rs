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

/// Number of insertions, deletions, replacements and swaps of neighbours that turn one text into
/// the other (optimal string alignment). Texts are compared up to 64 characters; longer ones are
/// never close.
fn edit_distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().take(64).collect();
    let right: Vec<char> = right.chars().take(64).collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(a != b);
            let mut best = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
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

    #[test]
    fn a_swap_of_neighbours_is_one_edit() {
        assert_eq!(edit_distance("form", "from"), 1);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
    }
}
