//! Turns in which a suspect is held back, and as many in which it is not.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_host::Ledger;
use assay_host::ledger::Mark;
use assay_sys::kernel::late_write::LateWrite;
use assay_sys::kernel::{Error, Root};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::effect::Turn;
use super::lever::{GroupFile, Lever, Suspect};
use crate::watch::stalls::StallWatch;
use crate::watch::waits::WaitWatch;
use crate::{Answer, Culprit};

/// This part of a turn passes before it counts: what waits and what is throttled has to follow the change.
const SETTLING: u32 = 5;

/// A process of its own thaws a group this long after its turn should have ended.
const LATE: Duration = Duration::from_millis(250);

/// An experiment while it lasts.
pub(super) struct Experiment<'r> {
    root: &'r Root,
    watch: WaitWatch,
    stalls: Option<StallWatch>,
    lever: Lever,
    length: Duration,
    planned: usize,
    order: std::vec::IntoIter<bool>,
    phase: Phase,
    held: Option<Held>,
    turns: Vec<Turn>,
    incomplete: usize,
    failure: Option<Error>,
}

/// Where in a turn it is.
enum Phase {
    Between,
    Settling { held: bool, since: Instant },
    Counting { held: bool, since: Instant, from: Reading },
    Over,
}

/// The suspect is held back.
struct Held {
    mark: Mark,
    /// Thaws it if this process cannot.
    _late: Option<LateWrite>,
}

/// What was counted up to a moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    seconds: f64,
    waited_ns: u64,
    charged_ns: u64,
    struck_ns: u64,
    stalled_ns: Option<u64>,
}

/// What came of an experiment.
pub(super) struct Outcome {
    pub(super) lever: Lever,
    pub(super) turns: Vec<Turn>,
    /// How many turns there should have been.
    pub(super) planned: usize,
    /// Turns in which some of the suspect's processes could not be frozen, or not to the end.
    pub(super) incomplete: usize,
    pub(super) failure: Option<Error>,
    /// What the programs counted in all turns.
    pub(super) answer: Option<Answer>,
}

impl<'r> Experiment<'r> {
    /// Takes `count` turns, in pairs of which a seed decides the order.
    pub(super) fn new(
        root: &'r Root,
        (watch, stalls): (WaitWatch, Option<StallWatch>),
        lever: Lever,
        (count, length, seed): (u32, Duration, u64),
    ) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let pairs = (0..count / 2).flat_map(|_| {
            let first: bool = random.random();
            [first, !first]
        });
        let order = pairs.collect::<Vec<bool>>().into_iter();
        Self {
            root,
            watch,
            stalls,
            lever,
            length,
            planned: order.len(),
            order,
            phase: Phase::Between,
            held: None,
            turns: Vec::new(),
            incomplete: 0,
            failure: None,
        }
    }

    /// Does what is due, and says when to call again; nothing once it is over. The suspect is then not held back.
    pub(super) fn poll(&mut self, ledger: &mut Ledger) -> Option<Duration> {
        let next = self.step(ledger);
        match next {
            Ok(next @ Some(_)) => return next,
            Ok(None) => {}
            Err(error) => self.failure = Some(error),
        }
        self.stop(ledger);
        None
    }

    /// Ends it, wherever it is.
    pub(super) fn stop(&mut self, ledger: &mut Ledger) {
        self.phase = Phase::Over;
        if let Err(error) = self.release(ledger) {
            self.failure.get_or_insert(error);
        }
    }

    pub(super) fn finish(self) -> Outcome {
        let Self { lever, turns, planned, incomplete, mut failure, watch, .. } = self;
        let answer = match watch.finish() {
            Ok(mut answers) => answers.pop(),
            Err(error) => {
                failure.get_or_insert(error);
                None
            }
        };
        Outcome { lever, turns, planned, incomplete, failure, answer }
    }

    fn step(&mut self, ledger: &mut Ledger) -> Result<Option<Duration>, Error> {
        let settling = self.length / SETTLING;
        match self.phase {
            Phase::Over => Ok(None),
            Phase::Between => {
                let Some(held) = self.order.next() else { return Ok(None) };
                if held {
                    self.hold(ledger)?;
                }
                self.phase = Phase::Settling { held, since: Instant::now() };
                Ok(Some(settling))
            }
            Phase::Settling { held, since } => {
                if let Some(left) = left(since, settling) {
                    return Ok(Some(left));
                }
                self.phase = Phase::Counting { held, since, from: self.read()? };
                Ok(left(since, self.length).or(Some(Duration::ZERO)))
            }
            Phase::Counting { held, since, from } => {
                if let Some(left) = left(since, self.length) {
                    return Ok(Some(left));
                }
                let to = self.read()?;
                if held {
                    self.incomplete += usize::from(!self.is_in_effect());
                    self.release(ledger)?;
                }
                self.turns.push(from.until(to, held));
                self.phase = Phase::Between;
                Ok(Some(Duration::ZERO))
            }
        }
    }

    fn hold(&mut self, ledger: &mut Ledger) -> Result<(), Error> {
        let mark = ledger.mark();
        let freezer = self.lever.files.iter().find_map(|file| Some((file, thawed(file)?)));
        let late = freezer.map(|(file, value)| {
            LateWrite::start(self.root, &file.path, value, self.length + LATE)
        });
        self.held = Some(Held { mark, _late: late.transpose()? });
        let mut files = self.lever.files.iter();
        files.try_for_each(|file| ledger.write_group_file(self.root, &file.path, &file.value))
    }

    fn release(&mut self, ledger: &mut Ledger) -> Result<(), Error> {
        let Some(held) = self.held.take() else { return Ok(()) };
        // The process that would thaw it late ends after that.
        ledger.restore_to(self.root, held.mark).into_iter().next().map_or(Ok(()), Err)
    }

    /// Whether all processes of a frozen group stand still.
    fn is_in_effect(&self) -> bool {
        self.lever.files.iter().all(|file| match thawed(file) {
            None => true,
            Some("0") => {
                let events = file.path.with_file_name("cgroup.events");
                let text = self.root.read(events).unwrap_or_default();
                text.lines().any(|line| line == "frozen 1")
            }
            Some(_) => self.root.read_trimmed(&file.path).is_ok_and(|state| state == file.value),
        })
    }

    fn read(&self) -> Result<Reading, Error> {
        let answers = self.watch.so_far()?;
        let answer = answers.first().ok_or_else(|| {
            Error::unexpected("read", Path::new("the answer"), "nothing is watched")
        })?;
        Ok(Reading {
            seconds: answer.seconds,
            waited_ns: answer.waited_ns,
            charged_ns: charged(answer, &self.lever.suspect),
            struck_ns: struck(answer, &self.lever.suspect),
            stalled_ns: self.stalls.as_ref().map(StallWatch::so_far).transpose()?,
        })
    }
}

impl Reading {
    fn until(self, later: Self, held: bool) -> Turn {
        Turn {
            held,
            seconds: later.seconds - self.seconds,
            waited_ns: later.waited_ns.saturating_sub(self.waited_ns),
            charged_ns: later.charged_ns.saturating_sub(self.charged_ns),
            struck_ns: later.struck_ns.saturating_sub(self.struck_ns),
            stalled_ns: later
                .stalled_ns
                .zip(self.stalled_ns)
                .map(|(to, from)| to.saturating_sub(from)),
        }
    }
}

/// What is left of this time.
fn left(since: Instant, time: Duration) -> Option<Duration> {
    time.checked_sub(since.elapsed()).filter(|left| !left.is_zero())
}

/// What thaws a group; nothing for a file that does not freeze.
fn thawed(file: &GroupFile) -> Option<&'static str> {
    match file.path.file_name()?.to_str()? {
        "cgroup.freeze" => Some("0"),
        "freezer.state" => Some("THAWED"),
        _ => None,
    }
}

/// What attribution charges to a suspect: to a group with all groups below it.
fn charged(answer: &Answer, suspect: &Suspect) -> u64 {
    let is_charged = |culprit: Culprit, group: Option<&str>| match suspect {
        Suspect::OwnQuota => culprit == Culprit::OwnQuota,
        Suspect::OwnMemoryHigh => false,
        Suspect::Group(path) => group.is_some_and(|group| Path::new(group).starts_with(path)),
    };
    let parts = answer.parts.iter().filter(|part| is_charged(part.culprit, part.group.as_deref()));
    parts.map(|part| part.ns).sum()
}

/// What it charges to interrupts and the hypervisor. A group's throttled time includes what struck meanwhile.
fn struck(answer: &Answer, suspect: &Suspect) -> u64 {
    let strikes = |culprit: Culprit| match suspect {
        Suspect::OwnQuota | Suspect::OwnMemoryHigh => false,
        Suspect::Group(_) => matches!(culprit, Culprit::Interrupts | Culprit::Hypervisor),
    };
    answer.parts.iter().filter(|part| strikes(part.culprit)).map(|part| part.ns).sum()
}
