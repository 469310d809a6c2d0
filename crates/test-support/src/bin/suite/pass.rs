//! One run of a test binary and the results of its tests. libtest reports the time of each test on a stable
//! toolchain as well, if bootstrap mode is enabled.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::binary::Binary;

/// Tests that take more seconds are printed as they end, to show progress.
const SLOW: f64 = 2.0;

/// The tests of a binary to run.
#[derive(Debug, Clone)]
pub(crate) enum Which {
    /// Tests whose names contain the filter, if any; those that need the host are deferred.
    Computing { filter: Option<String>, threads: usize },
    /// These tests, one after another.
    These(Vec<String>),
}

/// A deferred test.
#[derive(Debug, Clone)]
pub(crate) struct Deferred {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What a deferred test waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The host, with nothing else running.
    Quiet,
    /// The host.
    Busy,
    /// A guest: any time except while others measure.
    Guest,
}

/// A failed test.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) name: String,
    pub(crate) output: String,
}

/// Results of one run.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// Tests that passed, including deferred and skipped ones.
    pub(crate) passed: usize,
    /// Tests that failed, including those not reported by name.
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    /// Seconds of each test, by its name prefixed by that of its binary.
    pub(crate) times: Vec<(f64, String)>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) later: Vec<Deferred>,
    /// Tests that did not run, with reasons.
    pub(crate) skipped: Vec<(String, String)>,
}

impl Pass {
    /// Runs a binary to its end.
    pub(crate) fn run(binary: &Binary, which: &Which) -> Self {
        let mut pass = Self::default();
        let folder = match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(error) => return pass.broken(binary, format!("no temporary folder: {error}")),
        };
        let stderr_path = folder.path().join("stderr");
        let ended = command(binary, which, folder.path(), &stderr_path)
            .and_then(|command| pass.follow(binary, command));
        // Output that libtest does not capture is irrelevant while all tests pass.
        if pass.failed > 0 || !matches!(ended, Ok(None)) {
            print!("{}", fs::read_to_string(&stderr_path).unwrap_or_default());
        }
        pass.skipped = lines(&folder.path().join("skips"));
        // A test may request the host more than once, and counts as measuring if any request does.
        let requests = lines(&folder.path().join("later"));
        let names: BTreeSet<String> = requests.iter().map(|(_, name)| name.clone()).collect();
        let has = |word: &str, name: &String| requests.contains(&(word.to_owned(), name.clone()));
        let kind = |name: &String| match name {
            name if has("quiet", name) => Kind::Quiet,
            name if has("busy", name) => Kind::Busy,
            _ => Kind::Guest,
        };
        pass.later = names.into_iter().map(|name| Deferred { kind: kind(&name), name }).collect();
        match ended {
            Ok(None) => pass,
            Ok(Some(why)) => pass.broken(binary, why),
            Err(error) => pass.broken(binary, error.to_string()),
        }
    }

    /// A binary that did not run to its end counts as a failure.
    fn broken(mut self, binary: &Binary, output: String) -> Self {
        self.failed += 1;
        self.failures.push(Failure { name: binary.name.clone(), output });
        self
    }

    /// Processes the test events until the end, and returns why the binary itself failed, if so.
    fn follow(&mut self, binary: &Binary, mut command: Command) -> io::Result<Option<String>> {
        let mut child = command.spawn()?;
        let mut whole = false;
        for line in child.stdout.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
            let line = line?;
            match serde_json::from_str::<Value>(&line) {
                Ok(event) if event["type"] == "test" => self.take_test(binary, &event),
                Ok(event) if event["type"] == "suite" && event["event"] != "started" => {
                    whole = true;
                    self.take_counts(&event);
                }
                Ok(event) if event["type"].is_string() => {}
                // Output of a program that a test has started.
                _ => println!("{line}"),
            }
        }
        let status = child.wait()?;
        Ok((!whole).then(|| format!("the test binary ended before its tests: {status}")))
    }

    fn take_test(&mut self, binary: &Binary, event: &Value) {
        let Some(own) = event["name"].as_str() else { return };
        let name = format!("{} {own}", binary.name);
        let Some(seconds) = event["exec_time"].as_f64() else { return };
        if event["event"] == "failed" {
            let output = event["stdout"].as_str().unwrap_or_default().to_owned();
            // Printed at once, since the end repeats only its first lines.
            println!("FAILED {name} ({seconds:.1} s)\n{output}");
            self.failures.push(Failure { name: name.clone(), output });
        }
        if seconds > SLOW {
            println!("{seconds:6.1} s  {name}");
        }
        self.times.push((seconds, name));
    }

    fn take_counts(&mut self, event: &Value) {
        let count = |key: &str| event[key].as_u64().and_then(|count| usize::try_from(count).ok());
        self.passed = count("passed").unwrap_or_default();
        self.failed = count("failed").unwrap_or_default();
        self.ignored = count("ignored").unwrap_or_default();
    }
}

fn command(
    binary: &Binary,
    which: &Which,
    folder: &Path,
    stderr_path: &Path,
) -> io::Result<Command> {
    let mut command = Command::new(&binary.path);
    command
        .args(["-Z", "unstable-options", "--format", "json", "--report-time"])
        .current_dir(&binary.folder)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .env("ASSAY_TEST_SKIPS", folder.join("skips"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(stderr_path)?);
    match which {
        Which::Computing { filter, threads } => {
            command.args(["--test-threads", &threads.to_string()]).args(filter);
            command.env("ASSAY_TEST_LATER", folder.join("later"));
        }
        Which::These(names) => {
            command.args(["--test-threads", "1", "--exact"]).args(names);
            command.env_remove("ASSAY_TEST_LATER");
        }
    }
    Ok(command)
}

/// Lines of a word and the rest.
fn lines(path: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(word, rest)| (word.to_owned(), rest.to_owned())).collect()
}
