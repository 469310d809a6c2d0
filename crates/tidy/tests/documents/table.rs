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

    /// Its row on the page.
    pub(crate) fn row(&self) -> String {
        format!("| [{}]({}) | {} |", self.name, self.file(), self.from)
    }
}

const fn document(name: &'static str, root: &'static str, from: &'static str) -> Document {
    Document { name, root, from }
}

pub(crate) const DOCUMENTS: [Document; 35] = [
    document("audit", "audit::Audit", "`assay audit --json`"),
    document("audit-contended", "cli::Watched", "`assay audit --for 60s --json`"),
    document("audit-drift", "audit::Drift", "`assay audit --baseline FILE --json`"),
    document("audit-self", "audit::Own", "`assay audit --self --json`"),
    document("audit-snapshot", "audit::Snapshot", "`assay audit --snapshot FILE`"),
    document("audit-manifest", "audit::Told", "`assay audit --manifest FILE --json`"),
    document("audit-watch", "cli::Line", "each line of `assay audit --watch --json`"),
    document("blame", "cli::Document", "`assay blame --json`"),
    document("compare", "judge::RunComparison", "`assay compare --json`, compare.json"),
    document("conform", "conform::Document", "`assay conform --json`, `lab conform --json`"),
    document(
        "diagnostics",
        "sys::Diagnostics",
        "mistakes of a study, with `--json` of `run`, `check`, `explain`, `tune STUDY`, `lab run` and `fleet run`",
    ),
    document("errors", "judge::RunErrors", "`assay run --errors-json FILE`"),
    document("event", "record::Event", "each line of events.jsonl"),
    document("exec", "cli::JudgedReport", "`assay exec --json`"),
    document("explain", "cause::Explanation", "`assay explain --json`, explain.json"),
    document("export", "cli::Exported", "`assay export --json`"),
    document("fleet-hosts", "[judge::FleetHost]", "`assay fleet status --json`"),
    document(
        "fleet-verdict",
        "judge::FleetJudgement",
        "`assay fleet run`, `resume` and `collect` with `--json`, fleet-verdict.json",
    ),
    document("groups", "live::Groups", "`assay groups --json`, each line of it with `--watch`"),
    document("host", "cli::Host", "`assay host --json`"),
    document("index", "cli::Index", "`assay report --index RUNS --json`"),
    document("iocost", "cause::IoCost", "`assay tune --iocost DISK --json`, iocost.json"),
    document("kernels", "lab::Kernels", "`assay lab kernels --json`"),
    document("knobs-check", "cli::CheckedKnobs", "`assay host --knobs-check --json`"),
    document("manifest", "record::Manifest", "manifest.json of a run folder"),
    document("passport", "judge::Passport", "`assay passport --json`, passport.json"),
    document("plan", "run::PlanDocument", "`assay check --json`, `run --dry-run --json`"),
    document("report", "cli::Written", "`assay report RUN --json`"),
    document("restore", "cli::Restored", "`assay restore --json`"),
    document("sample", "report::RecordingDocument", "`assay sample --json`, summary.json"),
    document("studies", "cli::Studies", "`assay studies --json`"),
    document("study-text", "cli::StudyText", "`assay studies NAME --json`"),
    document("tune", "cause::Tuning", "`assay tune --json`, tune.json"),
    document(
        "verdict",
        "judge::Judgement",
        "`assay run --json`, `judge --json`, `lab run --json`, verdict.json",
    ),
    document("evidence", "blame::Evidence", "files in evidence/ of a run folder"),
];
