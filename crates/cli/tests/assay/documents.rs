//! Documents follow their published schemas (docs/schema): those of commands, and recorded ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_test_support::{Need, entries, skip};

use crate::bench::Bench;
use crate::notebook::{copy, python, recordings};
use crate::study::Weights;

/// Documents, each in a file that is named after its schema.
struct Documents<'b> {
    bench: &'b Bench,
    count: usize,
}

impl<'b> Documents<'b> {
    fn new(bench: &'b Bench) -> Self {
        fs::create_dir(bench.path("documents")).unwrap();
        Self { bench, count: 0 }
    }

    fn put(&mut self, schema: &str, kind: &str, text: &str) {
        self.count += 1;
        let name = format!("documents/{schema}.{}.{kind}", self.count);
        fs::write(self.bench.path(&name), text).unwrap();
    }

    /// A file that a command or a recording left, if it is there.
    fn file(&mut self, schema: &str, path: &Path) {
        let kind = path.extension().unwrap().to_str().unwrap().to_owned();
        if let Ok(text) = fs::read_to_string(path) {
            self.put(schema, &kind, &text);
        }
    }

    /// What a command prints; it may end with these codes.
    fn printed(&mut self, schema: &str, words: &[&str], codes: &[i32]) {
        let ended = self.bench.assay(words);
        let code = ended.status.code().unwrap();
        assert!(codes.contains(&code), "{words:?} ended with {code}: {}", ended.stderr);
        let kind = if schema == "audit-watch" { "jsonl" } else { "json" };
        self.put(schema, kind, &ended.stdout);
    }

    /// The documents of a run folder.
    fn run(&mut self, run: &Path) {
        self.file("manifest", &run.join("manifest.json"));
        self.file("verdict", &run.join("verdict.json"));
        self.file("event", &run.join("events.jsonl"));
        if run.join("evidence").is_dir() {
            entries(&run.join("evidence")).iter().for_each(|path| self.file("evidence", path));
        }
    }

    /// Checks all of them, and that there are some of each of these schemas.
    fn assert_follow(&self, schemas: &[&str]) {
        let python = match python() {
            Ok(python) => python,
            Err(why) => return skip("documents by their schemas", &why),
        };
        let script = root().join("crates/cli/tests/python/documents.py");
        let ended =
            Command::new(python).arg(script).arg(self.bench.path("documents")).output().unwrap();
        let error = String::from_utf8_lossy(&ended.stderr);
        let counts = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{error}");
        for schema in schemas {
            let is_there =
                counts.split_whitespace().any(|one| one.starts_with(&format!("{schema}=")));
            assert!(is_there, "no document of {schema}: {counts}");
        }
    }
}

/// Checks a document that another test has made.
pub(crate) fn assert_document(bench: &Bench, schema: &str, path: &Path) {
    let mut documents = Documents::new(bench);
    documents.file(schema, path);
    documents.assert_follow(&[schema]);
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn documents_of_commands_that_change_nothing_follow_their_schemas() {
    let bench = Bench::aside();
    let mut documents = Documents::new(&bench);
    documents.printed("studies", &["run", "--list", "-ojson"], &[0]);
    documents.printed("study-text", &["run", "--list", "io-weight", "-ojson"], &[0]);
    for study in ["io-weight", "cpu-quota", "memory-protection", "smt", "numa-mix"] {
        documents.printed("plan", &["check", study, "-ojson"], &[0, 4]);
    }
    bench.write("wrong.toml", "titel = \"x\"\n[[groups]]\nknobs = { \"cpu.wieght\" = 1 }\n");
    documents.printed("diagnostics", &["check", "wrong.toml", "-ojson"], &[2]);
    let errors = ["run", "wrong.toml", "--errors-json", "errors.json"];
    bench.assay(errors).assert_code(2);
    documents.file("errors", &bench.path("errors.json"));
    documents.printed("host", &["host", "-ojson"], &[0]);
    documents.printed("top", &["top", "-ojson"], &[0]);
    documents.printed("restore", &["restore", "-ojson"], &[0]);
    documents.printed("kernels", &["lab", "kernels", "-ojson"], &[0]);
    documents.assert_follow(&["studies", "plan", "diagnostics", "errors", "host", "top"]);
}

#[test]
fn documents_of_an_audit_follow_their_schemas() {
    let bench = Bench::aside();
    let mut documents = Documents::new(&bench);
    documents.printed("audit", &["audit", "-ojson"], &[0]);
    documents.printed("audit-self", &["audit", "self", "-ojson"], &[0]);
    bench.assay(["audit", "--snapshot", "host.json"]).assert_code(0);
    documents.file("audit-snapshot", &bench.path("host.json"));
    let snapshots = entries(&root().join("crates/audit/tests/fixtures"));
    let mut before = "host.json".to_owned();
    for snapshot in snapshots.iter().filter(|path| path.is_file()) {
        documents.put("audit-snapshot", "json", &fs::read_to_string(snapshot).unwrap());
        let snapshot = snapshot.display().to_string();
        documents.printed("audit", &["audit", &snapshot, "-ojson"], &[0]);
        documents.printed("audit-drift", &["audit", "diff", &before, &snapshot, "-ojson"], &[0, 1]);
        before = snapshot;
    }
    bench.write("w.service", "[Service]\nCPUWeight=300\nMemoryMax=1G\nTasksMax=%i\n");
    let manifest = ["audit", "--manifest", "w.service", "--group", "/", "-ojson"];
    documents.printed("audit-manifest", &manifest, &[1]);
    documents.printed("audit-watch", &["audit", "watch", "--for", "1s", "-ojson"], &[0]);
    documents.assert_follow(&["audit", "audit-drift", "audit-manifest", "audit-watch"]);
}

#[test]
fn documents_of_recorded_runs_follow_their_schemas() {
    let bench = Bench::aside();
    let mut documents = Documents::new(&bench);
    let runs = bench.path("runs");
    for recording in recordings() {
        let run = runs.join(recording.file_name().unwrap());
        copy(&recording, &run);
        let shown = run.display().to_string();
        documents.printed("verdict", &["judge", &shown, "-ojson"], &[0, 1, 3]);
        documents.printed("report", &["report", &shown, "-ojson"], &[0]);
        // 2: nothing in them can be compared.
        documents.printed("compare", &["compare", &shown, &shown, "-ojson"], &[0, 1, 2, 3]);
        documents.run(&run);
    }
    let export = ["report", "runs", "--as", "csv", "--no-samples", "--out", "tables", "-ojson"];
    documents.printed("export", &export, &[0]);
    let corpus = root().join("crates/fuzz/corpus");
    for (file, schema) in [("evidence/disk.json", "evidence"), ("tune/found.json", "tune")] {
        documents.file(schema, &corpus.join(file));
    }
    documents.assert_follow(&["verdict", "compare", "manifest", "tune"]);
}

#[test]
fn documents_of_commands_that_need_root_follow_their_schemas() {
    let needs = [Need::Loop, Need::Bfq, Need::Controller("io"), Need::Controller("cpu")];
    let Some(bench) = Bench::with("documents by their schemas", &needs) else { return };
    let mut documents = Documents::new(&bench);
    let limits = ["exec", "--set", "memory.max=64M", "--set", "pids.max=20", "-ojson"];
    documents.printed("exec", &[&limits[..], &["--", "true"]].concat(), &[0]);
    documents.printed("exec", &["exec", "--quiet-check", "-ojson", "--", "sleep", "1"], &[0, 3]);
    let record = ["record", "-ojson", "--out", "sampled", "--", "sleep", "0.3"];
    documents.printed("record", &record, &[0]);
    let busy = "timeout 1 sh -c 'while :; do :; done'; true";
    documents.printed("blame", &["blame", "-ojson", "--", "sh", "-c", busy], &[0, 3]);
    documents.printed("conform", &["conform", "freezer", "-ojson"], &[0, 1, 3]);
    documents.printed("fairness", &["fairness", "--for", "1s", "-ojson"], &[0, 1]);
    let study = bench.write("study.toml", &Weights { groups: 2, ..Weights::small() }.text());
    bench.run(&study, &["--repeats", "1", "--evidence"]).assert_verdict();
    documents.run(&bench.out());
    documents.assert_follow(&["exec", "record", "blame", "conform", "event", "evidence"]);
    bench.assert_host_is_as_before("after the commands");
}
