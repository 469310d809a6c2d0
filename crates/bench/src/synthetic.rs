//! A long synthetic run: the manifest of a short real run, with generated samples of any length,
//! written as in a run.

use std::path::Path;

use assay_record::run_folder::{Manifest, RunFolder, SampleStream, Table, to_parquet};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::failure::Failure;
use crate::shape::{READS, Shape, shapes, slowness};

/// Rounds per second.
const RATE: u64 = 10;
const INTERVAL_NS: u64 = 1_000_000_000 / RATE;

/// Rounds per batch; the sampler writes once per second.
const BATCH: u64 = RATE;

/// Writes a run of `seconds` seconds into `path`: the first repeat of the first trial of `model`,
/// stretched. Every group gets bytes at its own rate, with noise.
pub(crate) fn write(model: &Manifest, path: &Path, seconds: u64) -> Result<(), Failure> {
    let folder = RunFolder::create(path, assay_sys::files::Trust::Checked)?;
    let manifest = stretch(model, seconds)?;
    let trial = &manifest.trials[0];
    let groups = trial.groups.iter().filter(|group| !group.workloads.is_empty());
    let groups: Vec<String> = groups.map(|group| group.name.clone()).collect();
    let disks = trial.disks.iter().filter_map(|disk| disk.device.clone()).collect();
    let repeat = &trial.repeats[0];
    let samples = folder.make_dir(&Path::new("samples").join(&repeat.samples))?;
    for shape in shapes(groups, disks) {
        sample(&shape, &samples, repeat.released_ns, seconds * RATE, model.seed)?;
    }
    to_parquet(&samples)?;
    Ok(folder.write_manifest(&manifest)?)
}

fn stretch(model: &Manifest, seconds: u64) -> Result<Manifest, Failure> {
    let mut manifest = model.clone();
    manifest.trials.truncate(1);
    let trial = manifest.trials.first_mut();
    let trial = trial.ok_or_else(|| Failure::Failed("the model run has no trial".to_owned()))?;
    trial.at_most_s = seconds as f64;
    trial.repeats.truncate(1);
    let repeat = trial.repeats.first_mut();
    let repeat = repeat.ok_or_else(|| Failure::Failed("the model run has no repeat".to_owned()))?;
    repeat.stopped_ns = repeat.all_released_ns + seconds * 1_000_000_000;
    repeat.sampler.rounds = seconds * RATE + 1;
    repeat.sampler.wall_s = seconds as f64;
    // The workloads' reports must agree with the samples, or the run is void.
    for (index, result) in (0_u32..).zip(&mut repeat.workloads) {
        let bytes = 4096 * READS * RATE * seconds / u64::from(slowness(index));
        result.runtime_s = Some(seconds as f64);
        result.metrics.insert("read_bytes".to_owned(), bytes as f64);
    }
    Ok(manifest)
}

/// Writes one source, from one round before `from_ns` to `rounds` rounds after it.
fn sample(
    shape: &Shape,
    folder: &Path,
    from_ns: u64,
    rounds: u64,
    seed: u64,
) -> Result<(), Failure> {
    if shape.subjects.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = shape.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut stream = SampleStream::create(folder, shape.source, &names)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut sums = shape.start();
    let mut table = shape.table();
    for round in 0..=rounds + 1 {
        let time_ns = (from_ns + round * INTERVAL_NS).saturating_sub(INTERVAL_NS);
        add_round(shape, &mut table, time_ns, &mut sums, &mut random);
        if round % BATCH == BATCH - 1 || round == rounds + 1 {
            stream.append(&table)?;
            table = shape.table();
        }
    }
    Ok(())
}

/// Subjects are read a few microseconds apart; every second one grows half as fast.
fn add_round(
    shape: &Shape,
    table: &mut Table,
    time_ns: u64,
    sums: &mut [u64],
    random: &mut ChaCha8Rng,
) {
    const BETWEEN_NS: u64 = 8_000;
    let width = shape.columns.len();
    for (index, sums) in (0_u32..).zip(sums.chunks_mut(width)) {
        table.time_ns.push(time_ns + u64::from(index) * BETWEEN_NS);
        table.subject.push(index);
        let noise = random.random_range(0.5..1.5) / f64::from(slowness(index));
        for ((column, sum), (_, growth)) in table.columns.iter_mut().zip(sums).zip(&shape.columns) {
            *sum += (*growth as f64 * noise) as u64;
            column.values.push(Some(*sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_host::facts::Available;
    use assay_record::run_folder::{
        DiskRecord, GroupRecord, IoClass, PromiseRecord, RelationRecord, RepeatRecord, Run,
        TrialRecord, WarmUpRecord, WorkloadRecord,
    };
    use assay_sys::kernel::Root;

    use super::*;

    fn group(name: &str) -> GroupRecord {
        let workload = WorkloadRecord {
            name: format!("{name}.reader"),
            tool: "fio".to_owned(),
            io: IoClass { direct: true, reads: true, ..IoClass::default() },
            threads: Some(1),
            taken_over: Vec::new(),
            ..WorkloadRecord::default()
        };
        GroupRecord {
            existing: None,
            name: name.to_owned(),
            measured: true,
            knobs: Vec::new(),
            workloads: vec![workload],
            disk: Some("scratch".to_owned()),
            outside: false,
        }
    }

    fn repeat() -> RepeatRecord {
        RepeatRecord {
            released_ns: 5_000_000_000,
            all_released_ns: 5_000_100_000,
            stopped_ns: 6_000_000_000,
            start_skew_s: Available::Value(0.001),
            ..RepeatRecord::without_a_window("trial-00-repeat-00", "")
        }
    }

    fn model() -> Manifest {
        let disk = DiskRecord {
            name: "scratch".to_owned(),
            source: "loop".to_owned(),
            device: Some("loop9".to_owned()),
            scheduler: Some("bfq".to_owned()),
            queue: BTreeMap::new(),
        };
        let promise = PromiseRecord {
            measure: "io.bytes".to_owned(),
            is: RelationRecord::Equal,
            within: 0.5,
            every: None,
        };
        let trial = TrialRecord {
            groups: vec![group("task1"), group("task2")],
            disks: vec![disk],
            promises: vec![promise],
            warm_up: WarmUpRecord::Seconds(1.0),
            at_most_s: 1.0,
            repeats: vec![repeat(), repeat()],
            ..TrialRecord::default()
        };
        let host = assay_host::gather(&Root::real()).unwrap();
        Manifest {
            study: "bench".to_owned(),
            title: "A model".to_owned(),
            seed: 1,
            trials: vec![trial],
            restored: Some(true),
            ..Manifest::begun(host, "2026-01-01T00:00:00Z".to_owned(), Vec::new())
        }
    }

    fn written(seconds: u64) -> (tempfile::TempDir, Run) {
        let folder = tempfile::tempdir().unwrap();
        write(&model(), &folder.path().join("run"), seconds).unwrap();
        let run = Run::load(&folder.path().join("run")).unwrap();
        (folder, run)
    }

    #[test]
    fn the_stretched_run_covers_its_window_at_ten_rounds_per_second() {
        let (_place, run) = written(30);
        let repeat = &run.manifest.trials[0].repeats[0];
        assert_eq!(run.manifest.trials[0].repeats.len(), 1);
        assert_eq!(run.samples[0][0].len(), 5, "one table for each source");
        let io = run.samples[0][0].iter().find(|table| table.source == "io").unwrap();
        for subject in ["task1", "task2"] {
            let series: Vec<_> = io.series(subject, "read_bytes").collect();
            assert_eq!(series.len(), 302, "a round before, one at the start, 300 after");
            assert!(series[0].0 <= repeat.released_ns);
            assert!(series[301].0 >= repeat.stopped_ns - 1_000_000);
            assert!(series.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
        }
    }

    #[test]
    fn the_disk_has_read_what_the_groups_did() {
        let (_place, run) = written(60);
        let last = |source: &str, subject: &str, column: &str| {
            let table = run.samples[0][0].iter().find(|table| table.source == source).unwrap();
            table.series(subject, column).last().unwrap().1 as f64
        };
        let groups = last("io", "task1", "read_bytes") + last("io", "task2", "read_bytes");
        let disk = last("disk", "loop9", "read_sectors") * 512.0;
        assert!((disk / groups - 1.0).abs() < 0.05, "{disk} {groups}");
    }

    /// The judge must have real work to do, or its time would mean nothing.
    #[test]
    fn the_judge_finds_the_unequal_shares_of_the_stretched_run() {
        let (_place, run) = written(30);
        let judgement = assay_cause::judge(&run.manifest, &run.samples);
        let promise = &judgement.trials[0].promises[0];
        let shares: Vec<f64> = promise.groups.iter().map(|group| group.share).collect();
        assert_eq!(shares.len(), 2, "{promise:?}");
        assert!((shares[0] / shares[1] - 2.0).abs() < 0.1, "{shares:?}");
    }
}
