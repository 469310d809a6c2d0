//! A recording without a study: the sampler follows a command, a process or a group and writes an ordinary
//! run folder. The host is not changed.

mod followed;
mod target;

use std::collections::BTreeMap;
use std::time::Duration;

use assay_host::facts::HostFacts;
use assay_record::run_folder::{
    Event, EventLog, GroupRecord, Manifest, Recording, RepeatRecord, RunFolder, SamplerCost,
    TrialRecord, WarmUpRecord, to_parquet,
};
use assay_record::sample::{Choice, Outcome, Sampler, SamplerAffinity, prepare_chosen};
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::{Root, signal};

use crate::runner::failure::Failure;
use followed::Followed;
pub use target::FollowTarget;

/// What to record, and where.
#[derive(Debug)]
pub struct SampleRequest {
    /// What to follow.
    pub target: FollowTarget,
    /// Length; `None` until the command or the process ends, or the user asks to stop.
    pub length: Option<Duration>,
    /// Time between two rounds.
    pub interval: Duration,
    /// Additional sources, which are not read by default.
    pub also: Vec<String>,
    /// The command line.
    pub command: Vec<String>,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// The machine.
    pub facts: HostFacts,
    /// The run folder.
    pub folder: RunFolder,
}

/// Result of a recording.
#[derive(Debug)]
pub struct FinishedRecording {
    /// The manifest as it was written.
    pub manifest: Manifest,
    /// The exit code of the command, 128 + n for signal n, where it ended by itself.
    pub exit_code: Option<u8>,
    /// The signal that ended the recording early, if one did.
    pub interrupted: Option<&'static str>,
    /// Why samples are missing, if writing them failed.
    pub failure: Option<Failure>,
}

/// Samples of the one repeat that a recording has.
const SAMPLES: &str = "trial-00-repeat-00";

/// How often to check whether the command has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Records until the end. `running` is called from time to time with the elapsed time.
pub fn sample(
    request: &SampleRequest,
    mut running: impl FnMut(Duration),
) -> Result<FinishedRecording, Failure> {
    let root = Root::real();
    let targets = request.target.targets(&root, &request.facts)?;
    let folder = &request.folder;
    let samples_dir = folder.dir().make_dir(std::path::Path::new("samples").join(SAMPLES))?;
    let samples = folder.stable_path(&samples_dir);
    let mut manifest = manifest(request, &targets.groups);
    folder.write_manifest(&manifest)?;
    let mut events = EventLog::create(&folder.stable_path(folder.dir()))?;
    let prepared = prepare_chosen(&root, &targets, &Choice::Most(request.also.clone()));
    let mut not_available = prepared.not_available.clone();
    // The first round is taken before the command is started, so that its beginning is sampled.
    let affinity = SamplerAffinity::unrestricted("`assay record` does not change the host");
    let sampler = Sampler::start(prepared, &samples, request.interval, affinity)?;
    let began_ns = monotonic_ns();
    events.append(&event(began_ns, "start", request.target.title()))?;
    // Written early, so that the manifest lists the samples even if this process is killed.
    put(&mut manifest, repeat((began_ns, 0), SamplerCost::default(), not_available.clone()));
    folder.write_manifest(&manifest)?;
    let followed = Followed::start(&root, &request.target, folder);
    let ended = match followed {
        Ok(mut followed) => {
            wait(&mut followed, request.length, began_ns, &mut running);
            followed.end()
        }
        Err(error) => {
            drop(sampler.stop());
            return Err(error.into());
        }
    };
    let stopped_ns = ended.at_ns;
    let Outcome { cost, not_available: lacking, failure } = sampler.stop();
    not_available.extend(lacking);
    events.append(&event(stopped_ns, "stop", ended.how.clone()))?;
    let interrupted = signal::interrupted_by();
    if let Some(recording) = &mut manifest.recording {
        recording.pid = ended.pid;
        recording.ended = Some(ended.how);
        recording.log = ended.log;
    }
    manifest.ended_early = interrupted.map(|signal| format!("interrupted by {signal}"));
    put(&mut manifest, repeat((began_ns, stopped_ns), cost, not_available));
    let kept = to_parquet(&samples);
    folder.write_manifest(&manifest)?;
    let failure = failure.or(kept.err()).map(Failure::from);
    Ok(FinishedRecording { manifest, exit_code: ended.exit_code, interrupted, failure })
}

/// Waits until the time is over, the target has ended, or the user asks to stop.
fn wait(
    followed: &mut Followed,
    length: Option<Duration>,
    began_ns: u64,
    running: &mut impl FnMut(Duration),
) {
    loop {
        let elapsed = Duration::from_nanos(monotonic_ns().saturating_sub(began_ns));
        running(elapsed);
        let remaining = length.map_or(POLL_INTERVAL, |length| length.saturating_sub(elapsed));
        if remaining.is_zero() || signal::interrupted_by().is_some() || followed.has_ended() {
            return;
        }
        std::thread::sleep(remaining.min(POLL_INTERVAL));
    }
}

/// Sets the one repeat of the recording.
fn put(manifest: &mut Manifest, repeat: RepeatRecord) {
    if let Some(trial) = manifest.trials.first_mut() {
        trial.repeats = vec![repeat];
    }
}

fn event(time_ns: u64, kind: &str, text: String) -> Event {
    Event { time_ns, kind: kind.to_owned(), trial: Some(0), repeat: Some(0), text }
}

fn manifest(request: &SampleRequest, groups: &[assay_record::sample::GroupTarget]) -> Manifest {
    let group = |target: &assay_record::sample::GroupTarget| GroupRecord {
        name: target.name.clone(),
        measured: true,
        ..GroupRecord::default()
    };
    let (host, started_at) = (request.facts.clone(), request.started_at.clone());
    Manifest {
        study: "sample".to_owned(),
        title: request.target.title(),
        trials: vec![TrialRecord {
            groups: groups.iter().map(group).collect(),
            warm_up: WarmUpRecord::Seconds(0.0),
            at_most_s: request.length.map_or(0.0, |length| length.as_secs_f64()),
            ..TrialRecord::default()
        }],
        restored: Some(true),
        recording: Some(Recording {
            kind: request.target.kind().to_owned(),
            of: request.target.name(),
            pid: None,
            ended: None,
            log: None,
        }),
        ..Manifest::begun(host, started_at, request.command.clone())
    }
}

fn repeat(
    (began_ns, stopped_ns): (u64, u64),
    sampler: SamplerCost,
    not_available: BTreeMap<String, String>,
) -> RepeatRecord {
    RepeatRecord {
        released_ns: began_ns,
        all_released_ns: began_ns,
        stopped_ns,
        sampler,
        not_available,
        ..RepeatRecord::without_a_window(SAMPLES, "a recording has no common start")
    }
}

#[cfg(test)]
mod tests {
    use assay_record::sample::SOURCES;
    use assay_record::sample::registry::Inclusion;

    /// The study crate knows sources by name only, since it cannot depend on the sampler.
    #[test]
    fn studies_may_request_exactly_the_sources_not_sampled_by_default() {
        let is_accepted = |name: &str| {
            let text = format!("[sampling]\nsources = [\"{name}\"]\n");
            let (_, findings) = assay_study::parse("s", &text, &|_| Err(String::new()));
            !findings.iter().any(|finding| finding.message.contains("`sources`"))
        };
        for source in SOURCES {
            assert_eq!(
                is_accepted(source.name),
                source.inclusion != Inclusion::Always,
                "{}",
                source.name
            );
        }
    }
}
