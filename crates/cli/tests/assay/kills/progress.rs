//! Progress of a work, observed from outside: the events of a run and the lines of the ledger, each of which
//! is written between two changes of the host.

use std::fs;
use std::path::Path;

use assay_test_support::entries;

use crate::bench::Bench;

/// Where a kill landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Nothing was recorded yet.
    BeforeTheLedger,
    /// The host was being changed, or workloads were being started.
    SetUp,
    /// Workloads ran.
    Window,
    /// Workloads were being stopped and changes restored.
    Restore,
    /// Everything was restored, the ledger was removed, and only the verdict was missing.
    AfterTheLedger,
}

/// One observation of a work.
#[derive(Debug, Default)]
pub(super) struct Progress {
    events: Vec<String>,
    /// The kinds of the ledger's lines, `begin`, `intend` or `back`; `None` without a ledger.
    ledger: Option<Vec<String>>,
    /// Number of files that a command under limits has created.
    begun: bool,
    ended: bool,
}

impl Progress {
    pub(super) fn look(bench: &Bench, out: &Path) -> Self {
        let text = fs::read_to_string(out.join("events.jsonl")).unwrap_or_default();
        let events = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let events = events.map(|event: serde_json::Value| event["text"].as_str().unwrap().into());
        Self {
            events: events.collect(),
            ledger: ledger(bench),
            begun: out.join("begun").exists(),
            ended: out.join("ended").exists(),
        }
    }

    /// A count that grows during the work, until its ledger is removed.
    pub(super) fn marks(&self) -> usize {
        self.events.len() + self.lines() + usize::from(self.begun) + usize::from(self.ended)
    }

    /// The same without a look at what the lines say: a work is polled while it runs.
    pub(super) fn count_marks(bench: &Bench, out: &Path) -> usize {
        let lines = |text: &str| text.matches('\n').count();
        let events = fs::read_to_string(out.join("events.jsonl")).unwrap_or_default();
        let files = ["begun", "ended"].iter().filter(|name| out.join(name).exists()).count();
        lines(&events) + ledger_text(bench).map_or(0, |text| lines(&text)) + files
    }

    /// The lines of the ledger.
    pub(super) fn lines(&self) -> usize {
        self.ledger.as_ref().map_or(0, Vec::len)
    }

    pub(super) fn has_ledger(&self) -> bool {
        self.ledger.is_some()
    }

    /// The phase of the work.
    pub(super) fn phase(&self) -> Phase {
        let Some(lines) = &self.ledger else {
            let any = self.ended || self.events.iter().any(|event| is_over(event));
            return if any { Phase::AfterTheLedger } else { Phase::BeforeTheLedger };
        };
        match (self.events.last(), lines.last()) {
            (Some(event), _) if event == "run" => Phase::Window,
            (Some(event), _) if is_over(event) => Phase::Restore,
            (Some(_), _) => Phase::SetUp,
            (None, _) if self.ended => Phase::Restore,
            (None, _) if self.begun => Phase::Window,
            (None, Some(line)) if line == "back" => Phase::Restore,
            (None, _) => Phase::SetUp,
        }
    }
}

/// Whether this event of a run comes after a window.
fn is_over(event: &str) -> bool {
    ["window is over", "stop workloads", "repeat is over"].contains(&event)
}

fn ledger_text(bench: &Bench) -> Option<String> {
    let files = entries(&bench.path("state/ledger"));
    let file = files.iter().find(|path| path.extension().is_some_and(|kind| kind == "jsonl"))?;
    // It may be removed between the two reads.
    fs::read_to_string(file).ok()
}

fn ledger(bench: &Bench) -> Option<Vec<String>> {
    let kind = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
    Some(ledger_text(bench)?.lines().map(kind).collect())
}
