//! Ten faults injected into real runs: each is a study file with a perturbation during the run, and the
//! causes that identify it.
//!
//! The first lines of a file describe them: `# named:` the correct codes, `# hand:` nothing, a queue
//! attribute with its value, or `weight` with a value.

mod perturbation;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use perturbation::Perturbation;

/// Every file of faults/, by name.
const FILES: [(&str, &str); 10] = [
    ("scheduler-off", include_str!("../faults/scheduler-off.toml")),
    ("low-latency-on", include_str!("../faults/low-latency-on.toml")),
    ("requests-32", include_str!("../faults/requests-32.toml")),
    ("one-cpu", include_str!("../faults/one-cpu.toml")),
    ("buffered-writes", include_str!("../faults/buffered-writes.toml")),
    ("not-backlogged", include_str!("../faults/not-backlogged.toml")),
    ("wrong-level", include_str!("../faults/wrong-level.toml")),
    ("value-changed", include_str!("../faults/value-changed.toml")),
    ("page-cache", include_str!("../faults/page-cache.toml")),
    ("limit-too-high", include_str!("../faults/limit-too-high.toml")),
];

/// Causes that a busy host has even without a fault.
const OF_A_BUSY_HOST: [&str; 5] =
    ["C-CPU", "C-CPU-OTHERS", "C-STEAL", "C-LATE-START", "C-NOT-BACKLOGGED"];

/// One fault.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The name of its file.
    pub name: &'static str,
    /// Description of the fault.
    pub what: String,
    /// Codes of the causes that identify it.
    pub named: Vec<String>,
    study: &'static str,
    hand: Perturbation,
}

/// Result of a run with the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict on the first promise; one of few starts is undecided.
    pub verdict: String,
    /// Codes of its causes, in order.
    pub causes: Vec<String>,
    /// Codes of `assay diagnose`, in order, if the run itself did not name the fault first.
    pub explained: Vec<String>,
}

/// Whether the fault was identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// First of all causes.
    First,
    /// Not first, or not at all.
    No,
    /// The host was too busy for a verdict.
    TooBusy,
}

impl Fault {
    /// All ten, in the order of the documentation.
    ///
    /// # Errors
    /// Errors: the file whose first lines cannot be parsed.
    pub fn all() -> Result<Vec<Self>, String> {
        FILES.iter().map(|(name, study)| Self::parse(name, study)).collect()
    }

    fn parse(name: &'static str, study: &'static str) -> Result<Self, String> {
        let line = |key: &str| {
            let start = format!("# {key}: ");
            let value = study.lines().find_map(|line| line.strip_prefix(&start));
            value.ok_or_else(|| format!("faults/{name}.toml has no line `{start}`"))
        };
        Ok(Self {
            name,
            what: line("fault")?.to_owned(),
            named: line("named")?.split_whitespace().map(str::to_owned).collect(),
            study,
            hand: Perturbation::parse(line("hand")?)?,
        })
    }

    /// Runs the study with the fault and returns the run folder. All files are below `folder`, the ledger in
    /// `folder/state`. When `stop` returns true, the run is asked to end; it has restored the host when this
    /// returns.
    ///
    /// # Errors
    /// The reason why it did not run, with the last lines of its output.
    pub fn inject(
        &self,
        assay: &Path,
        folder: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<PathBuf, String> {
        let study = folder.join(format!("{}.toml", self.name));
        fs::write(&study, self.study).map_err(|cause| format!("{}: {cause}", study.display()))?;
        let out = folder.join(self.name);
        let arguments = [
            "run".as_ref(),
            "--yes".as_ref(),
            study.as_os_str(),
            "--out".as_ref(),
            out.as_os_str(),
        ];
        self.call(assay, &arguments, folder, &out, stop)?;
        Ok(out)
    }

    /// Judges the run folder, and runs `assay diagnose` if the fault is not named first.
    ///
    /// # Errors
    /// The reason why it could not be judged or explained.
    pub fn outcome(
        &self,
        assay: &Path,
        run: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome, String> {
        let verdict = json(&run.join("verdict.json"))?;
        let promise = &verdict["trials"][0]["promises"][0];
        let mut outcome = Outcome {
            verdict: promise["verdict"].as_str().unwrap_or("none").to_owned(),
            causes: codes(&promise["causes"]),
            explained: Vec::new(),
        };
        let explains = outcome.verdict == "void" || promise["was"]["verdict"] == "broken";
        if self.named(&outcome) == Named::No && explains {
            let out = run.with_extension("explained");
            let arguments = [
                "diagnose".as_ref(),
                "--yes".as_ref(),
                run.as_os_str(),
                "--duration".as_ref(),
                "6s".as_ref(),
                "--out".as_ref(),
                out.as_os_str(),
            ];
            let folder = run.parent().unwrap_or(run);
            Self { hand: Perturbation::None, ..self.clone() }
                .call(assay, &arguments, folder, &out, stop)?;
            outcome.explained = codes(&json(&out.join("explain.json"))?["causes"]);
        }
        Ok(outcome)
    }

    /// Whether an outcome names the fault.
    #[must_use]
    pub fn named(&self, outcome: &Outcome) -> Named {
        let first = outcome.explained.first().or(outcome.causes.first());
        match first {
            Some(code) if self.named.contains(code) => Named::First,
            Some(code) if OF_A_BUSY_HOST.contains(&code.as_str()) => Named::TooBusy,
            _ => Named::No,
        }
    }

    /// Starts the program, applies the perturbation, and waits for the end.
    fn call(
        &self,
        assay: &Path,
        arguments: &[&std::ffi::OsStr],
        folder: &Path,
        out: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let output_path = folder.join(format!("{}.output_path", self.name));
        let file = File::create(&output_path)
            .map_err(|cause| format!("{}: {cause}", output_path.display()))?;
        let mut child = Command::new(assay)
            .args(arguments)
            .current_dir(folder)
            .env("ASSAY_STATE", folder.join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .map_err(|cause| format!("{}: {cause}", assay.display()))?;
        let mut applied = self.hand == Perturbation::None;
        let mut stop_sent = false;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|cause| cause.to_string())? {
                break status;
            }
            if !applied && perturbation::has_begun(out) {
                sleep(Duration::from_millis(1500));
                self.hand.act(out, child.id())?;
                applied = true;
            }
            if !stop_sent && stop() {
                // A process that has just ended needs no signal.
                let _ = assay_sys::kernel::process::send(child.id(), Signal::TERM);
                stop_sent = true;
            }
            sleep(Duration::from_millis(20));
        };
        if !matches!(status.code(), Some(0 | 1 | 3)) {
            let output = fs::read_to_string(&output_path).unwrap_or_default();
            let last: Vec<&str> = output.lines().rev().take(3).collect();
            return Err(format!("{}: ended with {status}: {}", self.name, last.join("; ")));
        }
        if applied {
            Ok(())
        } else {
            Err(format!("{}: the run ended before the perturbation", self.name))
        }
    }
}

fn codes(causes: &Value) -> Vec<String> {
    let all = causes.as_array().into_iter().flatten();
    all.filter_map(|cause| Some(cause["code"].as_str()?.to_owned())).collect()
}

fn json(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    serde_json::from_str(&text).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Sources needed for judging a fault.
const KEPT: [&str; 8] =
    ["io", "disk", "cpu", "host_cpu", "cpus", "cpu_split", "throttle", "vmstat"];

/// Copies what is needed for judging a run of one trial to a folder that can be committed: without names of
/// the machine, paths, or output of workloads.
///
/// # Errors
/// The file that could not be read or written.
pub fn keep(run: &Path, folder: &Path) -> Result<(), String> {
    let failed = |cause: std::io::Error| format!("{}: {cause}", folder.display());
    let mut manifest = json(&run.join("manifest.json"))?;
    manifest["command"] = Value::Array(vec!["assay".into(), "run".into()]);
    manifest["changes"] = Value::Array(Vec::new());
    manifest["host"]["host_name"] = "recorded".into();
    manifest["host"]["disks"] = Value::Array(Vec::new());
    if let Some(host) = manifest["host"].as_object_mut() {
        host.remove("machine");
    }
    for controller in manifest["host"]["cgroup"]["controllers"].as_object_mut().into_iter() {
        for (_, controller) in controller.iter_mut() {
            controller["own_group"] = "/".into();
        }
    }
    fs::create_dir_all(folder.join("samples")).map_err(failed)?;
    fs::write(folder.join("manifest.json"), format!("{manifest}\n")).map_err(failed)?;
    let name = manifest["trials"][0]["repeats"][0]["samples"].as_str().unwrap_or_default();
    let (from, to) = (run.join("samples").join(name), folder.join("samples").join(name));
    fs::create_dir_all(&to).map_err(failed)?;
    for source in KEPT {
        let file = format!("{source}.parquet");
        if from.join(&file).is_file() {
            fs::copy(from.join(&file), to.join(&file)).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_ten_faults_and_each_lists_its_causes() {
        let all = Fault::all().unwrap();
        assert_eq!(all.len(), 10);
        for fault in &all {
            assert!(fault.named.iter().all(|code| code.starts_with("C-")), "{}", fault.name);
            assert!(!fault.what.is_empty());
        }
        assert_eq!(all.iter().filter(|fault| fault.hand != Perturbation::None).count(), 3);
    }

    #[test]
    fn a_fault_counts_as_named_only_by_the_first_cause() {
        let fault = Fault::all().unwrap().remove(0);
        let outcome = |causes: &[&str], explained: &[&str]| Outcome {
            verdict: "void".to_owned(),
            causes: causes.iter().map(|code| (*code).to_owned()).collect(),
            explained: explained.iter().map(|code| (*code).to_owned()).collect(),
        };
        assert_eq!(fault.named(&outcome(&["C-SCHEDULER", "C-CPU"], &[])), Named::First);
        assert_eq!(fault.named(&outcome(&["C-INJECTION", "C-SCHEDULER"], &[])), Named::No);
        assert_eq!(fault.named(&outcome(&["C-INJECTION"], &["C-SCHEDULER"])), Named::First);
        assert_eq!(fault.named(&outcome(&["C-CPU", "C-SCHEDULER"], &[])), Named::TooBusy);
        assert_eq!(fault.named(&outcome(&[], &[])), Named::No);
    }
}
