//! Mistakes in a script: position, description and remedy.

use std::fmt;

/// A position in a script. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in crate::filebench) struct Position {
    pub(in crate::filebench) line: u32,
    pub(in crate::filebench) column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::filebench) struct Mistake {
    pub(in crate::filebench) position: Position,
    pub(in crate::filebench) what: String,
    pub(in crate::filebench) remedy: String,
}

impl Mistake {
    pub(in crate::filebench) fn new(
        position: Position,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { position, what: what.into(), remedy: remedy.into() }
    }
}

/// All mistakes of a script in file order, each with a line for the position and one for the
/// remedy.
pub(in crate::filebench) fn format_mistakes(file: &str, mistakes: &[Mistake]) -> String {
    let mut sorted: Vec<&Mistake> = mistakes.iter().collect();
    sorted.sort_by_key(|mistake| mistake.position);
    let lines: Vec<String> = sorted
        .iter()
        .map(|mistake| {
            let Mistake { position, what, remedy } = mistake;
            format!("{file}:{position}: {what}\n  hint: {remedy}")
        })
        .collect();
    lines.join("\n")
}

/// `did you mean` for a word that is not among `known`, or the whole list.
pub(in crate::filebench) fn suggestion(word: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|name| (distance(word, name), name)).min();
    match nearest {
        Some((edits, name)) if edits <= 1 + word.len() / 4 => format!("did you mean `{name}`?"),
        _ => format!("expected one of: {}", known.join(", ")),
    }
}

/// Edit distance: characters to add, remove, replace or swap with the next one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(row[j - 1] + 1).min(rows[i - 1][j] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_word_gets_the_nearest_suggestion() {
        let known = ["filesetname", "iosize", "iters"];
        assert_eq!(suggestion("iosiez", &known), "did you mean `iosize`?");
        assert_eq!(suggestion("rnu", &["set", "run", "quit"]), "did you mean `run`?");
        assert!(suggestion("zzz", &known).starts_with("expected one of: "));
    }

    #[test]
    fn mistakes_are_listed_in_the_order_of_the_file() {
        let at = |line, column| Mistake::new(Position { line, column }, "x", "y");
        let text = format_mistakes("a.f", &[at(9, 1), at(2, 7)]);
        assert_eq!(text, "a.f:2:7: x\n  hint: y\na.f:9:1: x\n  hint: y");
    }
}
