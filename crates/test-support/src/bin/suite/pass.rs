//! One run of a test binary, and what its tests said. libtest tells the time of each test on a stable
//! toolchain too, where it is asked as the compiler's own bootstrap asks.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::binary::Binary;

/// Tests that take more seconds are told as they end, so that somebody who waits sees what for.
const TOLD: f64 = 2.0;

/// Which tests of a binary are run.
#[derive(Debug, Clone)]
pub(crate) enum Which {
    /// Those whose names contain this, where it says so; those that ask for the host are put off.
    Computing { filter: Option<String>, threads: usize },
    /// These, one after the other.
    These(Vec<String>),
}

/// A test that was put off.
#[derive(Debug, Clone)]
pub(crate) struct Later {
    pub(crate) name: String,
    pub(crate) turn: Turn,
}

/// What a test that was put off waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The host, with nothing else running.
    Quiet,
    /// The host.
    Busy,
    /// A guest: any time but beside those that measure.
    Guest,
}

/// A test that has failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) name: String,
    pub(crate) said: String,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// Tests that ended well, those that were put off or skipped among them.
    pub(crate) passed: usize,
    /// Tests that failed, also those that a binary has not told of by name.
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    /// What each test took, in seconds, by its name with that of its binary.
    pub(crate) times: Vec<(f64, String)>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) later: Vec<Later>,
    /// Tests that did not run, and why.
    pub(crate) skipped: Vec<(String, String)>,
}

impl Pass {
    /// Runs a binary to its end.
    pub(crate) fn run(binary: &Binary, which: &Which) -> Self {
        let mut pass = Self::default();
        let place = match tempfile::tempdir() {
            Ok(place) => place,
            Err(error) => return pass.broken(binary, format!("no temporary folder: {error}")),
        };
        let noise = place.path().join("stderr");
        let ended = command(binary, which, place.path(), &noise)
            .and_then(|command| pass.follow(binary, command));
        // What libtest does not catch says nothing while all goes well.
        if pass.failed > 0 || !matches!(ended, Ok(None)) {
            print!("{}", fs::read_to_string(&noise).unwrap_or_default());
        }
        pass.skipped = lines(&place.path().join("skips"));
        // A test may ask more than once, and is measuring if it says so at all.
        let asked = lines(&place.path().join("later"));
        let names: BTreeSet<String> = asked.iter().map(|(_, name)| name.clone()).collect();
        let has = |word: &str, name: &String| asked.contains(&(word.to_owned(), name.clone()));
        let turn = |name: &String| match name {
            name if has("quiet", name) => Turn::Quiet,
            name if has("busy", name) => Turn::Busy,
            _ => Turn::Guest,
        };
        pass.later = names.into_iter().map(|name| Later { turn: turn(&name), name }).collect();
        match ended {
            Ok(None) => pass,
            Ok(Some(why)) => pass.broken(binary, why),
            Err(error) => pass.broken(binary, error.to_string()),
        }
    }

    /// A binary that did not come to its end is a failure of its own.
    fn broken(mut self, binary: &Binary, said: String) -> Self {
        self.failed += 1;
        self.failures.push(Failure { name: binary.name.clone(), said });
        self
    }

    /// Reads what the tests say until the end, and returns why the binary itself failed, if so.
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
                // What a program says that a test has started.
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
            let said = event["stdout"].as_str().unwrap_or_default().to_owned();
            // All of it at once: the end repeats its first lines.
            println!("FAILED {name} ({seconds:.1} s)\n{said}");
            self.failures.push(Failure { name: name.clone(), said });
        }
        if seconds > TOLD {
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

fn command(binary: &Binary, which: &Which, place: &Path, noise: &Path) -> io::Result<Command> {
    let mut command = Command::new(&binary.path);
    command
        .args(["-Z", "unstable-options", "--format", "json", "--report-time"])
        .current_dir(&binary.folder)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .env("ASSAY_TEST_SKIPS", place.join("skips"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(noise)?);
    match which {
        Which::Computing { filter, threads } => {
            command.args(["--test-threads", &threads.to_string()]).args(filter);
            command.env("ASSAY_TEST_LATER", place.join("later"));
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
