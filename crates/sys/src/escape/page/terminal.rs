//! A page as text for a terminal.

use super::paint::{Paint, Tone};
use super::table::columns;
use super::{Page, Part, Parts, Section, Tag};
use crate::escape::line;

/// Minimum width: a narrower table would be unreadable.
pub const MIN_WIDTH: usize = 40;

impl Page {
    /// The page for a terminal of `width` columns, with colours if `color`.
    #[must_use]
    pub fn text(&self, width: usize, color: bool) -> String {
        let (width, paint) = (width.max(MIN_WIDTH), Paint { color });
        let mut lines: Vec<String> =
            wrap(&line(&self.heading), width, "").iter().map(|line| paint.bold(line)).collect();
        lines.extend(self.question.iter().flat_map(|question| wrap(&line(question), width, "")));
        if let Some(verdict) = &self.verdict {
            let (word, meaning) = (verdict.tag.marked(), line(&verdict.meaning));
            let painted = paint.tone(verdict.tag.tone, &word);
            if columns(&word) + 2 + columns(&meaning) <= width {
                lines.push(format!("{painted}  {meaning}"));
            } else {
                lines.push(painted);
                lines.extend(wrap(&format!("  {meaning}"), width, "  "));
            }
        }
        lines.extend(self.head.lines(width, paint));
        for section in &self.sections {
            lines.extend(section.lines(width, paint));
        }
        joined(&lines)
    }
}

impl Page {
    /// The page as text without colours, a line for each paragraph.
    #[must_use]
    pub fn unwrapped(&self) -> String {
        self.text(usize::MAX, false)
    }
}

impl Section {
    /// Its lines below an empty one; none if a terminal shows nothing of it.
    #[must_use]
    pub fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let parts = self.parts.lines(width, paint);
        if parts.is_empty() && self.tag.is_none() {
            return parts;
        }
        let heading = match &self.tag {
            Some(tag) => heading(&self.heading, tag, width, paint),
            None => paint.bold(&self.heading),
        };
        [String::new(), heading].into_iter().chain(parts).collect()
    }
}

impl Parts {
    /// Their lines, with an empty one around each table.
    #[must_use]
    pub fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut after_table = false;
        for part in &self.0 {
            let of_part = part.lines(width, paint);
            let is_table = matches!(part, Part::Table(_));
            if (is_table || after_table) && !of_part.is_empty() && !lines.is_empty() {
                lines.push(String::new());
            }
            after_table = is_table || (after_table && of_part.is_empty());
            lines.extend(of_part);
        }
        lines
    }
}

impl Part {
    fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let item = |text: &str| wrap(&format!("  {}", line(text)), width, "    ");
        match self {
            Self::Text { class, text, tag } => {
                let word = tag.as_ref().map_or_else(String::new, |tag| format!(": {}", tag.word));
                let hang = if ["reason", "needs"].contains(class) { "  " } else { "    " };
                let mut lines = wrap(&format!("  {}{word}", line(text)), width, hang);
                if *class == "failed" {
                    lines[0] = paint.tone(Tone::Bad, &lines[0]);
                }
                lines
            }
            Self::List(items) => {
                let item = |text: &String| wrap(&format!("    - {}", line(text)), width, "      ");
                items.iter().flat_map(item).collect()
            }
            Self::Facts(facts) => columns_of(facts, width),
            Self::Table(table) => {
                let names = table.columns.first().map_or(&[][..], |column| &column.cells);
                let mut missing: Vec<(&str, Vec<String>)> = Vec::new();
                for (name, why) in names.iter().zip(&table.missing) {
                    let Some(why) = why else { continue };
                    match missing.iter_mut().find(|(known, _)| known == why) {
                        Some((_, names)) if names.contains(&name.plain()) => {}
                        Some((_, names)) => names.push(name.plain()),
                        None => missing.push((why, vec![name.plain()])),
                    }
                }
                let missing = missing
                    .iter()
                    .map(|(why, names)| format!("{}: not available: {why}", names.join(", ")));
                let caption = table.caption.iter().flat_map(|text| item(text));
                let mut lines: Vec<String> = caption.chain(table.lines(width, paint)).collect();
                lines.extend(missing.flat_map(|text| item(&text)));
                lines
            }
            // Lines to copy are not wrapped.
            Self::Code(text) => text.lines().map(|text| format!("  {}", line(text))).collect(),
            Self::Heading(_, text) => vec![String::new(), paint.bold(&line(text))],
            Self::Box(_, parts) | Self::OnTerminal(parts) => parts.lines(width, paint),
            Self::Fold(..) | Self::OnPage(_) | Self::Figures(_) => Vec::new(),
        }
    }
}

/// Values with their names in as many columns as fit.
fn columns_of(facts: &[(String, String)], width: usize) -> Vec<String> {
    let longest = |of: fn(&(String, String)) -> &String| {
        facts.iter().map(|fact| columns(of(fact))).max().unwrap_or(0)
    };
    let (names, values) = (longest(|(name, _)| name), longest(|(_, value)| value));
    let across = (width / (names + values + 3)).clamp(1, 4);
    let down = facts.len().div_ceil(across).max(1);
    let mut lines: Vec<String> = vec![String::new(); down.min(facts.len())];
    for (index, (name, value)) in facts.iter().enumerate() {
        let (name, value) = (line(name), line(value));
        lines[index % down].push_str(&format!("  {name:<names$} {value:>values$}"));
    }
    lines
}

/// A heading with its verdict at the right and a line in between.
#[must_use]
pub fn heading(text: &str, tag: &Tag, width: usize, paint: Paint) -> String {
    let text = line(text);
    let word = tag.marked();
    let used = columns(&text) + columns(&word) + 2;
    let rule = "\u{2500}".repeat(width.min(100).saturating_sub(used).max(2));
    format!("{} {} {}", paint.bold(&text), paint.faint(&rule), paint.tone(tag.tone, &word))
}

/// Wraps a text to `width` columns; lines after the first are indented. A word longer than a line
/// gets its own line.
#[must_use]
pub fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    if columns(text) <= width && !text.contains('\n') {
        return vec![text.to_owned()];
    }
    let indentation = text.len() - text.trim_start().len();
    let mut lines = vec![" ".repeat(indentation)];
    let mut fresh = true;
    for word in text.split_whitespace() {
        let line = lines.last().map_or("", String::as_str);
        let gap = if fresh { 0 } else { 1 };
        if !fresh && columns(line) + gap + columns(word) > width {
            lines.push(format!("{indent}{word}"));
        } else if let Some(line) = lines.last_mut() {
            line.push_str(&" ".repeat(gap));
            line.push_str(word);
        }
        fresh = false;
    }
    lines
}

/// The lines as one text, which ends with a newline.
#[must_use]
pub fn joined(lines: &[String]) -> String {
    let mut text = lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}
