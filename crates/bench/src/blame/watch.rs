//! Watching one situation: its groups are made beside each other on a pair of CPUs, and removed.

use std::path::Path;
use std::thread::scope;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assay_exec::{Leftover, Request, exec};
use assay_facts::HostFacts;
use assay_kernel::{Root, signal};
use assay_sample::waits::CpuHierarchy;
use assay_session::{BlamedCommand, CommandOptions, Context, HoldBy, ProveOptions, blame_command};

use super::situation::{Group, Question, Situation};
use crate::failure::Failure;
use crate::idle_wait;
use crate::pairs::Pair;

/// How long the threads of a group compute whose classes are known, up to a second more.
const WATCHED: Duration = Duration::from_secs(4);

/// How long one is watched before its proof, and the turns of that.
const BEFORE: Duration = Duration::from_secs(2);
const TURNS: u32 = 12;
const TURN: Duration = Duration::from_secs(1);

/// Attaching the programs, starting the groups and ending them.
const AROUND: Duration = Duration::from_secs(4);

/// How long a group may take until it has processes, and then until all of them compute.
const START: Duration = Duration::from_secs(30);
const SETTLING: Duration = Duration::from_millis(500);

/// Where a situation is made.
pub(super) struct Place<'p> {
    pub(super) facts: &'p HostFacts,
    pub(super) hierarchy: &'p CpuHierarchy,
    /// For ledgers; it exists.
    pub(super) folder: &'p Path,
    pub(super) cpus: Pair,
}

/// What came of it.
pub(super) struct Watched {
    pub(super) own: BlamedCommand,
    /// Paths of the other groups.
    pub(super) others: Vec<String>,
}

impl Situation {
    /// How long it takes, at most on a quiet host.
    pub(super) fn length(&self) -> Duration {
        AROUND
            + match self.question {
                Question::Attribution(_) => WATCHED,
                Question::Proof => BEFORE + TURNS * TURN,
            }
    }

    /// Makes it with names that end in `tag`, and watches the own group.
    pub(super) fn watch(&self, place: &Place<'_>, tag: &str) -> Result<Watched, Failure> {
        let run_ids: Vec<String> =
            (0..self.others.len()).map(|index| format!("bench-{index}-{tag}")).collect();
        let running = place.folder.join(format!("running-{tag}"));
        std::fs::write(&running, "").map_err(failed)?;
        scope(|scope| {
            let hogs = self.others.iter().zip(&run_ids).map(|(group, run_id)| {
                let request = place.request(group, run_id, Load::While(&running));
                scope.spawn(|| {
                    let ended = exec(&request?, place.facts, &mut |_| ());
                    ended.map_err(|failure| failed(format!("{failure:?}")))
                })
            });
            let hogs: Vec<_> = hogs.collect();
            let others: Vec<String> = run_ids.iter().map(|run_id| path(run_id)).collect();
            let waited = others.iter().try_for_each(|path| place.wait_for(path));
            let own = waited.and_then(|()| self.own(place, tag, others.first(), &running));
            // The others end without it.
            std::fs::remove_file(&running).map_err(failed)?;
            for hog in hogs {
                let ended = hog.join().map_err(|_| failed("a group's thread has ended"))??;
                if let Some(error) = ended.not_restored.first() {
                    return Err(failed(format!("not restored: {error}")));
                }
            }
            Ok(Watched { own: own?, others })
        })
    }

    fn own(
        &self,
        place: &Place<'_>,
        tag: &str,
        culprit: Option<&String>,
        running: &Path,
    ) -> Result<BlamedCommand, Failure> {
        let (load, options) = match self.question {
            Question::Attribution(_) => (Load::For(WATCHED), CommandOptions::default()),
            Question::Proof => {
                let prove = Some(proof(culprit));
                (Load::While(running), CommandOptions { length: Some(BEFORE), prove })
            }
        };
        let request = place.request(&self.own, &format!("bench-own-{tag}"), load)?;
        let context = Context::of_this_host(Vec::new());
        let watched = blame_command(&context, &request, &options, &mut |_| ());
        let watched = watched.map_err(|error| failed(error.reasons.join("; ")))?;
        match watched.outcome.not_restored.first() {
            Some(error) => Err(failed(format!("not restored: {error}"))),
            None => Ok(watched),
        }
    }
}

/// A seed of the turns, which their proof repeats.
fn drawn() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.subsec_nanos().into()
}

fn proof(culprit: Option<&String>) -> ProveOptions {
    ProveOptions {
        culprit: culprit.map_or_else(|| "own_quota".to_owned(), Clone::clone),
        by: HoldBy::Freezing,
        turns: TURNS,
        length: TURN,
        seed: drawn(),
        allow_foreign: false,
    }
}

/// The path of the group of a command.
fn path(run_id: &str) -> String {
    format!("/assay-{run_id}")
}

/// How long a group's threads compute. Each ends by itself while it runs: a process that ends it from within the
/// group would wait for its quota beside it, and one from outside would end it in the middle of a wait.
#[derive(Clone, Copy)]
enum Load<'l> {
    For(Duration),
    /// While a file exists.
    While(&'l Path),
}

/// Whatever happens to this program, its loads end.
const AT_MOST: &str = "timeout 300";

/// The seconds that the host is up, which the shell reads itself.
const NOW: &str = "read now _ </proc/uptime";

impl Load<'_> {
    /// A thread on each of these CPUs; without any, one that sleeps.
    fn script(self, cpus: impl Iterator<Item = u16>) -> String {
        let (first, going) = match self {
            Self::For(length) => (
                format!("{NOW}; end=$((${{now%.*}} + {} + 1));", length.as_secs()),
                format!("{NOW}; [ ${{now%.*}} -lt $end ]"),
            ),
            Self::While(file) => (String::new(), format!("[ -e {} ]", file.display())),
        };
        let thread =
            |does: &str| format!("{AT_MOST} sh -c '{first} while {going}; do {does}; done'");
        let on = |cpu| format!("taskset -c {cpu} {} &", thread(":"));
        let computing = cpus.map(on).collect::<Vec<_>>().join(" ");
        if computing.is_empty() { thread("sleep 0.1") } else { format!("{computing} wait") }
    }
}

impl Place<'_> {
    fn request(&self, group: &Group, run_id: &str, load: Load<'_>) -> Result<Request, Failure> {
        let script = load.script(group.cpus.iter().map(|cpu| self.cpus[*cpu]));
        let settings = group.settings.iter().map(|text| text.parse().map_err(failed));
        Ok(Request {
            command: ["sh", "-c", &script].map(Into::into).into(),
            settings: settings.collect::<Result<_, _>>()?,
            memory: None,
            disk: None,
            leftover: Leftover::Wait,
            keep_going: false,
            state_dir: self.folder.join(run_id),
            run_id: run_id.to_owned(),
        })
    }

    /// Waits until a group has processes.
    fn wait_for(&self, path: &str) -> Result<(), Failure> {
        let processes = self.hierarchy.directory(path).join("cgroup.procs");
        let begun = Instant::now();
        while Root::real().read(&processes).unwrap_or_default().is_empty() {
            if begun.elapsed() > START || signal::interrupted_by().is_some() {
                return Err(failed(format!("the group {path} has no processes")));
            }
            idle_wait::pause(Duration::from_millis(20))?;
        }
        idle_wait::pause(SETTLING)
    }
}

fn failed(reason: impl std::fmt::Display) -> Failure {
    Failure::Failed(reason.to_string())
}
