//! The list of runs as a page. The page embeds its entries as data, so an update reads only new or
//! changed runs.

use assay_judge::verdict::Verdict;
use assay_record::run_folder::{RunSummary, Stamp, State, parse_json};
use assay_sys::escape::page::{Tag, Tone};
use assay_sys::escape::{html as escaped, json_in_html};
use serde::{Deserialize, Serialize};

use crate::html::{self, INDEX};
use crate::number::{self, NONE};
use crate::wording;

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

/// Verdict filters in order.
const WORDS: [&str; 8] =
    ["broken", "undecided", "void", "kept", "recording", "not judged", "unfinished", "unreadable"];

/// The list of runs as a page, `runs/index.html`, the newest run first.
#[must_use]
pub fn render(entries: &[IndexEntry]) -> String {
    let mut sorted: Vec<&IndexEntry> = entries.iter().collect();
    sorted.sort_by(|a, b| (&b.summary.started_at, &b.name).cmp(&(&a.summary.started_at, &a.name)));
    let mut hosts: Vec<&str> = sorted.iter().map(|one| one.summary.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let hosts = match hosts.iter().filter(|host| !host.is_empty()).count() {
        0 | 1 => String::new(),
        several => format!(" on {several} hosts"),
    };
    let rows: String = sorted.iter().map(|entry| row(entry)).collect();
    let list = match entries.is_empty() {
        true => "<p>No runs yet. <code>assay run io-weight</code> makes one.</p>\n".to_owned(),
        false => format!(
            "<div class=\"scroll\" tabindex=\"0\"><table id=\"list\">\n<thead><tr><th>Verdict</th><th>Run</th><th>Study</th>\
             <th>Started, UTC</th><th>Host</th><th>Kernel</th><th class=\"n\">Lasted</th>\
             <th class=\"n\">Trials / repeats</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
        ),
    };
    // JSON that is safe inside a script element: no user text can close it. It holds plain data only.
    let data = json_in_html(&serde_json::json!(entries).to_string());
    format!(
        "{}<body>\n<header class=\"top\">\n<p class=\"kicker\">assay runs</p>\n<h1>{}{hosts}</h1>\n{}</header>\n\
         <main>\n{list}<noscript><p class=\"note\">Filters need JavaScript; the list is complete without it.</p>\
         </noscript>\n</main>\n{OPENS}{data}</script>\n{}</body>\n</html>\n",
        html::head("Runs of assay", &format!("{MARK}\n"), &INDEX),
        wording::count(entries.len(), "run"),
        filters(&sorted),
        INDEX.scripts()
    )
}

/// A choice of verdicts, and of words.
fn filters(entries: &[&IndexEntry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let choice = |word: &str| {
        let count = entries.iter().filter(|entry| verdict(&entry.summary).word == word).count();
        (count > 0).then(|| {
            format!(
                "<label><input type=\"checkbox\" name=\"verdict\" value=\"{word}\" checked> {word} ({count})</label>\n"
            )
        })
    };
    format!(
        "<form class=\"filters\" id=\"filters\" aria-label=\"Filters\">\n\
         <input type=\"search\" id=\"words\" placeholder=\"study, host, kernel, date\" \
         aria-label=\"Show runs with all of these words\" autocomplete=\"off\">\n{}\
         <span id=\"shown\" role=\"status\" class=\"aside\"></span>\n</form>\n",
        WORDS.into_iter().filter_map(choice).collect::<String>()
    )
}

fn row(entry: &IndexEntry) -> String {
    let summary = &entry.summary;
    let tag = verdict(summary);
    let note = match &summary.state {
        State::Whole => String::new(),
        State::EndedEarly(why) => format!("ended early: {why}"),
        State::Unfinished => "no recorded end: it is still running, or it was killed".to_owned(),
        State::Unreadable(why) => why.clone(),
    };
    let aside = |text: &str| match text.is_empty() {
        true => String::new(),
        false => format!("<br><span class=\"aside\">{}</span>", escaped(text)),
    };
    let or_none = |text: &str| if text.is_empty() { NONE.to_owned() } else { escaped(text) };
    let kernel = match summary.guest {
        true => format!("{} (guest)", escaped(&summary.kernel)),
        false => or_none(&summary.kernel),
    };
    format!(
        "<tr data-verdict=\"{}\"><td>{}</td>\n<th scope=\"row\" class=\"prose\"><a href=\"./{}/{}\">{}</a>{}{}</th>\n\
         <td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{kernel}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{} / {}</td></tr>\n",
        tag.word,
        html::pill(&tag),
        escaped(&entry.link),
        if summary.report { "report.html" } else { "" },
        escaped(&entry.name),
        aside(&summary.title),
        aside(&note),
        or_none(&summary.study),
        or_none(&summary.started_at.replace('T', " ").replace('Z', "")),
        or_none(&summary.host),
        number::or_none(summary.seconds, number::seconds),
        summary.trials,
        summary.repeats
    )
}

/// The verdict or its substitute.
fn verdict(summary: &RunSummary) -> Tag {
    let judged = [Verdict::Kept, Verdict::Broken, Verdict::Undecided, Verdict::Void].into_iter();
    let verdict = judged.map(wording::tag).find(|tag| Some(&tag.word) == summary.verdict.as_ref());
    match (&summary.state, verdict) {
        (State::Unreadable(_), _) => Tag::new(Tone::Void, "!", "unreadable"),
        (_, Some(tag)) => tag,
        (State::Unfinished, _) => Tag::new(Tone::Open, "\u{2026}", "unfinished"),
        _ if summary.verdict.is_none() && summary.report => Tag::new(Tone::Void, NONE, "recording"),
        _ => Tag::new(Tone::Void, NONE, "not judged"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, state: State, verdict: Option<&str>) -> IndexEntry {
        IndexEntry {
            name: name.to_owned(),
            link: name.to_owned(),
            stamp: assay_record::run_folder::stamp(std::path::Path::new("no such folder")),
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
        let page = render(&entries);
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
        let page = render(&entries);
        let position = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
        assert!(position("./4/report.html") < position("./1/report.html"));
        for text in ["unfinished", "ends in the middle", "ended early: interrupted", "broken"] {
            position(text);
        }
    }
}
