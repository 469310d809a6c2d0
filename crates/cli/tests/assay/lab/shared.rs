//! Guests shared by many tests: booted once, by the first test.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use assay_lab::{Cache, KernelChoice};
use assay_test_support::{HostSnapshot, is_quick, skip};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::running::{self, Ended, Running};

/// Output and exit code of one part of a guest's script.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) code: i32,
    pub(super) text: String,
    /// What it said on stderr.
    pub(super) said: String,
    /// How long it took.
    seconds: u64,
}

impl Part {
    /// The JSON document at the beginning of the output. Messages follow it where a repeat failed, as one does in a
    /// guest that is too slow for its program.
    pub(super) fn json(&self) -> Value {
        let document = serde_json::Deserializer::from_str(&self.text).into_iter().next();
        let document = document.unwrap_or_else(|| panic!("no document: {self:?}"));
        document.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A guest that has ended.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) ended: Ended,
    pub(super) parts: BTreeMap<String, Part>,
    /// Differences of the host before and after.
    pub(super) differences: String,
}

impl Visit {
    fn new(ended: Ended, differences: String) -> Self {
        Self { parts: parts(&ended.stdout), ended, differences }
    }

    fn to_json(&self) -> String {
        let Ended { status, stdout, stderr } = &self.ended;
        let status = status.into_raw();
        let differences = &self.differences;
        json!({ "status": status, "stdout": stdout, "stderr": stderr, "differences": differences })
            .to_string()
    }

    fn from_json(kept: &Value) -> Self {
        let text = |key: &str| kept[key].as_str().unwrap().to_owned();
        let status = i32::try_from(kept["status"].as_i64().unwrap()).unwrap();
        let status = ExitStatus::from_raw(status);
        Self::new(
            Ended { status, stdout: text("stdout"), stderr: text("stderr") },
            text("differences"),
        )
    }

    /// The part with this name.
    pub(super) fn part(&self, name: &str) -> &Part {
        self.parts.get(name).unwrap_or_else(|| panic!("no part {name} in {:#?}", self.ended))
    }
}

/// Far more than a guest needs on an idle machine, where it takes a minute or two.
pub(super) const PATIENCE: Duration = Duration::from_secs(2100);

/// Why no guest with this kernel is available, if so; a kernel that is not in the cache is fetched.
pub(super) fn why_not(kernel: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root".to_owned());
    }
    // virtme-init mounts a tmpfs there, and guests call the `assay` of this clone.
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    if let Some(own) =
        ["/var/tmp", "/var/cache", "/run"].iter().find(|own| program.starts_with(own))
    {
        return Some(format!("a guest has a {own} of its own, and this clone lies below it"));
    }
    let cache = Cache::usual();
    let had = assay_lab::ready(&cache).and_then(|()| {
        let choice: KernelChoice = kernel.parse().unwrap();
        assay_lab::Kernel::provide(&choice, &cache, false, &mut |_| ())
    });
    had.err().map(|error| error.what)
}

/// Boots a guest and runs a script in it, once for all tests of a suite that use it. `None`, printed and counted as
/// skipped for each of them, if that is not possible.
pub(super) fn visit(
    name: &str,
    test: &str,
    kernel: &str,
    options: &[&str],
    script: &str,
) -> Option<Visit> {
    if is_quick(test) {
        return None;
    }
    if let Some(why) = why_not(kernel) {
        skip(test, &format!("no guest: {why}"));
        return None;
    }
    // Each test is a process of its own: the first one boots the guest and keeps what it printed for the others. One that is
    // tried again, as in CI, is not shown the same again.
    let attempt = env::var("NEXTEST_ATTEMPT").unwrap_or_default();
    let suite = env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| std::process::id().to_string());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests").join(suite);
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join(format!("{name}.lock"))).unwrap();
    rustix::io::retry_on_intr(|| flock(&lock, FlockOperation::LockExclusive)).unwrap();
    let kept = folder.join(format!("{name}-{attempt}.json"));
    if !kept.exists() {
        let visit = run(kernel, options, script);
        // scripts/test prints them.
        let times = visit.parts.iter().map(|(part, of)| format!("{} {name} {part}\n", of.seconds));
        fs::write(folder.join(format!("{name}.times")), times.collect::<String>()).unwrap();
        fs::write(&kept, visit.to_json()).unwrap();
    }
    Some(Visit::from_json(&running::json(&kept)))
}

fn run(kernel: &str, options: &[&str], script: &str) -> Visit {
    let bench = Bench::aside();
    let text = format!("{PARTS}{script}");
    let path = bench.write("script", &text);
    let before = HostSnapshot::take_with(&[&tree(), Path::new("/lib/modules")]);
    let mut command = bench.program();
    command
        .args(["lab", "exec", "--kernel", kernel, "--timeout", "30min"])
        .args(options)
        .args(["--", "sh"])
        // /tmp is visible in the guest like everything else.
        .arg(path)
        .arg(env!("CARGO_BIN_EXE_assay"))
        .arg(tree());
    let ended = Running::start(command, bench.folder(), bench.out()).end(PATIENCE);
    let differences = HostSnapshot::differences_since(&before);
    bench.assert_nothing_is_left("after a guest");
    Visit::new(ended, differences)
}

/// The scripts of this tree, which a guest can read but must not be able to change.
pub(super) fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").canonicalize().unwrap()
}

/// What a script is called with. The program is started often, and its pages are read through 9p, which does not cache;
/// `assay-load` stays where it is.
pub(super) const ARGUMENTS: &str = "assay=/run/assay-program scripts=$2 PATH=${1%/*}:$PATH\nstrip -o $assay \"$1\" || cp \"$1\" $assay\n";

/// `part NAME COMMAND...` runs a command and frames its output, and marks what it says on stderr. The end names its code, and
/// when it began and ended, in seconds since the boot.
const PARTS: &str = r#"
part() {
    name=$1; shift; echo "@@ begin $name"; read begun idle </proc/uptime
    "$@" 2>/run/said; code=$?
    echo; sed 's/^/@@ said /' /run/said; cat /run/said >&2; read ended idle </proc/uptime
    echo "@@ end $name $code ${begun%.*} ${ended%.*}"
}
"#;

fn parts(output: &str) -> BTreeMap<String, Part> {
    let mut parts = BTreeMap::new();
    let (mut text, mut said) = (String::new(), Vec::new());
    for line in output.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["@@", "begin", _] => text.clear(),
            ["@@", "said", ..] => said.push(&line["@@ said".len()..]),
            ["@@", "end", name, code, begun, ended] => {
                let code = code.parse().unwrap();
                let [begun, ended] = [begun, ended].map(|time| time.parse::<u64>().unwrap());
                let said = std::mem::take(&mut said).join("\n");
                let seconds = ended - begun;
                let part = Part { code, text: text.trim().to_owned(), said, seconds };
                parts.insert(name.to_owned(), part);
            }
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    parts
}
