//! The documents that are published, each with its type.

/// A document.
pub(crate) struct Document {
    /// Name of its schema.
    pub(crate) name: &'static str,
    /// Its type, `CRATE::TYPE`; in brackets for a list of it.
    pub(crate) root: &'static str,
    /// What writes it, for readers.
    pub(crate) from: &'static str,
}

impl Document {
    /// The file of its schema, below docs/schema.
    pub(crate) fn file(&self) -> String {
        format!("{}.schema.json", self.name)
    }

    /// Its row on the page, whose heading says that commands print it with `-o json`.
    pub(crate) fn row(&self) -> String {
        let from = self.from.replace(" -o json", "").replace("`assay ", "`");
        format!("| [{}]({}) | {from} |", self.name, self.file())
    }
}

const fn document(name: &'static str, root: &'static str, from: &'static str) -> Document {
    Document { name, root, from }
}

pub(crate) const DOCUMENTS: [Document; 34] = [
    document("audit", "audit::Audit", "`assay audit -o json`"),
    document("fairness", "cli::Watched", "`assay fairness -o json`"),
    document("audit-drift", "audit::Drift", "`assay audit diff FILE -o json`"),
    document("audit-self", "audit::Own", "`assay audit self -o json`"),
    document("audit-snapshot", "audit::Snapshot", "`assay audit --snapshot FILE`"),
    document("audit-manifest", "audit::Told", "`assay audit --manifest FILE -o json`"),
    document("audit-watch", "cli::Line", "each line of `assay audit watch -o json`"),
    document("blame", "cli::Document", "`assay blame -o json`"),
    document("compare", "judge::RunComparison", "`assay compare -o json`, compare.json"),
    document("conform", "conform::Document", "`assay conform -o json`, `lab conform -o json`"),
    document(
        "diagnostics",
        "sys::Diagnostics",
        "mistakes of a study, with `-o json` of `run`, `check`, `diagnose`, `tune STUDY` and `lab run`",
    ),
    document("errors", "judge::RunErrors", "`assay run --errors-json FILE`"),
    document("event", "record::Event", "each line of events.jsonl"),
    document("exec", "cli::JudgedReport", "`assay exec -o json`"),
    document("explain", "cause::Explanation", "`assay diagnose -o json`, explain.json"),
    document("export", "cli::Exported", "`assay report --as FORMAT -o json`"),
    document(
        "fleet-verdict",
        "judge::FleetJudgement",
        "`assay fleet collect -o json`, fleet-verdict.json",
    ),
    document("top", "live::Groups", "`assay top -o json`"),
    document("host", "cli::Host", "`assay host -o json`"),
    document("iocost", "cause::IoCost", "`assay tune --iocost DISK -o json`, iocost.json"),
    document("kernels", "lab::Kernels", "`assay lab kernels -o json`"),
    document("manifest", "record::Manifest", "manifest.json of a run folder"),
    document("passport", "conform::Passport", "`assay conform --kernel -o json`, passport.json"),
    document("plan", "run::PlanDocument", "`assay check -o json`, `run --dry-run -o json`"),
    document("probe", "live::Document", "`assay probe -o json`"),
    document("report", "cli::Written", "`assay report RUN -o json`"),
    document("restore", "cli::Restored", "`assay restore -o json`"),
    document("record", "report::RecordingDocument", "`assay record -o json`, summary.json"),
    document("founding", "cli::Founding", "`assay run --list founding -o json`"),
    document("studies", "cli::Studies", "`assay run --list -o json`"),
    document("study-text", "cli::StudyText", "`assay run --list STUDY -o json`"),
    document("tune", "cause::Tuning", "`assay tune -o json`, tune.json"),
    document(
        "verdict",
        "judge::Judgement",
        "`assay run -o json`, `judge -o json`, `lab run -o json`, verdict.json",
    ),
    document("evidence", "blame::Evidence", "files in evidence/ of a run folder"),
];
