//! The list of runs as a page. The page embeds its entries as data, so an update reads only new or
//! changed runs.

use assay_escape::json_in_html;
use assay_run_folder::{RunSummary, Stamp, State, parse_json};
use minijinja::Value as Markup;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::number::{self, NONE};
use crate::page::{Code, filled};

/// Identifies an `index.html` written by this version of Assay.
const MARK: &str = "<meta name=\"generator\" content=\"assay index 1\">";

/// Start of the embedded data.
const OPENS: &str = "<script type=\"application/json\" id=\"runs\">";

/// One run in the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// The name of its folder, for display.
    pub name: String,
    /// The name as a link, percent-encoded: names need not be valid UTF-8.
    pub link: String,
    /// The state of its files when it was read.
    pub stamp: Stamp,
    /// Summary of the run.
    pub summary: RunSummary,
}

/// The entries of a page written by Assay; `None` for any other page.
#[must_use]
pub fn parse_entries(page: &str) -> Option<Vec<IndexEntry>> {
    if !page.contains(MARK) {
        return None;
    }
    let data = page.split_once(OPENS).and_then(|(_, rest)| rest.split_once("</script>"));
    // A damaged list is still ours, and is rewritten.
    Some(data.and_then(|(json, _)| parse_json(json).ok()).unwrap_or_default())
}

#[derive(Serialize)]
struct Page {
    rows: Vec<Row>,
    filters: Vec<Filter>,
    hosts: usize,
    data: Markup,
    mark: Markup,
    opens: Markup,
    code: Code,
}

#[derive(Serialize)]
struct Filter {
    word: &'static str,
    count: usize,
}

#[derive(Serialize)]
struct Row {
    name: String,
    href: Option<String>,
    title: String,
    study: String,
    started_at: String,
    host: String,
    kernel: String,
    seconds: String,
    size: String,
    word: &'static str,
    mark: &'static str,
    colour: &'static str,
    note: Option<String>,
}

/// Verdict filters in order.
const WORDS: [&str; 8] =
    ["broken", "undecided", "void", "kept", "recording", "not judged", "unfinished", "unreadable"];

/// The list of runs as a page, `runs/index.html`, the newest run first.
pub fn render(entries: &[IndexEntry]) -> Result<String, Error> {
    let mut sorted: Vec<&IndexEntry> = entries.iter().collect();
    sorted.sort_by(|a, b| (&b.summary.started_at, &b.name).cmp(&(&a.summary.started_at, &a.name)));
    let rows: Vec<Row> = sorted.iter().map(|entry| row(entry)).collect();
    let count = |word: &&'static str| rows.iter().filter(|row| row.word == *word).count();
    let filters = WORDS.iter().map(|word| Filter { word, count: count(word) });
    let filters = filters.filter(|filter| filter.count > 0).collect();
    let mut hosts: Vec<&str> = sorted.iter().map(|one| one.summary.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let page = Page {
        filters,
        hosts: hosts.iter().filter(|host| !host.is_empty()).count(),
        data: data(entries)?,
        mark: Markup::from_safe_string(MARK.to_owned()),
        opens: Markup::from_safe_string(OPENS.to_owned()),
        code: Code::for_index(),
        rows,
    };
    filled("index.html", page)
}

/// JSON that is safe inside a script element: no user text can close it.
fn data(entries: &[IndexEntry]) -> Result<Markup, Error> {
    let json = serde_json::to_string(entries)
        .map_err(|cause| Error::new("write the list of runs as JSON", cause))?;
    Ok(Markup::from_safe_string(json_in_html(&json)))
}

fn row(entry: &IndexEntry) -> Row {
    let summary = &entry.summary;
    let (word, mark, colour) = verdict(summary);
    let note = match &summary.state {
        State::Whole => None,
        State::EndedEarly(why) => Some(format!("ended early: {why}")),
        State::Unfinished => {
            Some("no recorded end: it is still running, or it was killed".to_owned())
        }
        State::Unreadable(why) => Some(why.clone()),
    };
    let page = if summary.report { "report.html" } else { "" };
    let or_none = |text: &str| if text.is_empty() { NONE.to_owned() } else { text.to_owned() };
    Row {
        name: entry.name.clone(),
        href: Some(format!("./{}/{page}", entry.link)),
        title: summary.title.clone(),
        study: or_none(&summary.study),
        started_at: or_none(&summary.started_at.replace('T', " ").replace('Z', "")),
        host: or_none(&summary.host),
        kernel: match summary.guest {
            true => format!("{} (guest)", summary.kernel),
            false => or_none(&summary.kernel),
        },
        seconds: number::or_none(summary.seconds, number::seconds),
        size: format!("{} / {}", summary.trials, summary.repeats),
        word,
        mark,
        colour,
        note,
    }
}

/// The verdict or its substitute: word, mark and colour class.
fn verdict(summary: &RunSummary) -> (&'static str, &'static str, &'static str) {
    match (&summary.state, summary.verdict.as_deref()) {
        (State::Unreadable(_), _) => ("unreadable", "!", "void"),
        (_, Some("kept")) => ("kept", "\u{2713}", "kept"),
        (_, Some("broken")) => ("broken", "\u{2717}", "broken"),
        (_, Some("undecided")) => ("undecided", "?", "undecided"),
        (_, Some("void")) => ("void", "\u{2205}", "void"),
        (State::Unfinished, _) => ("unfinished", "\u{2026}", "undecided"),
        (_, Some(_)) => ("not judged", "\u{2013}", "void"),
        (_, None) if summary.report => ("recording", "\u{2013}", "void"),
        (_, None) => ("not judged", "\u{2013}", "void"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, state: State, verdict: Option<&str>) -> IndexEntry {
        IndexEntry {
            name: name.to_owned(),
            link: name.to_owned(),
            stamp: assay_run_folder::stamp(std::path::Path::new("no such folder")),
            summary: RunSummary {
                state,
                study: "io-weight".to_owned(),
                title: "</script><b>evil".to_owned(),
                started_at: format!("2026-01-01T00:00:00Z{name}"),
                host: "h".to_owned(),
                kernel: "6.1".to_owned(),
                guest: false,
                seconds: Some(20.0),
                trials: 1,
                repeats: 3,
                verdict: verdict.map(str::to_owned),
                report: true,
            },
        }
    }

    #[test]
    fn entries_can_be_read_back_from_the_page() {
        let entries = [entry("a", State::Whole, Some("kept")), entry("b", State::Unfinished, None)];
        let page = render(&entries).unwrap();
        assert_eq!(parse_entries(&page).unwrap(), entries);
        assert_eq!(parse_entries("<html><title>mine</title></html>"), None, "not ours");
        assert_eq!(parse_entries(MARK), Some(vec![]), "ours, and damaged");
        assert!(!page.contains("<b>evil"), "user texts are escaped");
    }

    #[test]
    fn newest_run_is_first_and_every_state_has_a_word() {
        let unreadable = State::Unreadable("manifest.json ends in the middle".to_owned());
        let entries = [
            entry("1", State::Whole, Some("broken")),
            entry("2", State::Unfinished, None),
            entry("3", unreadable, None),
            entry("4", State::EndedEarly("interrupted".to_owned()), Some("kept")),
        ];
        // The template engine escapes the slash as well.
        let page = render(&entries).unwrap().replace("&#x2f;", "/");
        let position = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
        assert!(position("./4/report.html") < position("./1/report.html"));
        for text in ["unfinished", "ends in the middle", "ended early: interrupted", "broken"] {
            position(text);
        }
    }
}
