//! A recorded run: loaded whole, or its files of samples part by part.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use assay_sys::files::Dir;
use rustix::fs::{SeekFrom, seek};

use crate::run_folder::budget::Budget;
use crate::run_folder::error::{Error, damaged, source_of};
use crate::run_folder::folder::RunFolder;
use crate::run_folder::manifest::Manifest;
use crate::run_folder::parquet::Batches;
use crate::run_folder::repeat::RepeatRecord;
use crate::run_folder::table::{Assembler, Table};
use crate::run_folder::tail::Tail;

/// Rows of one batch: about a megabyte with ten columns of eight bytes.
const ROWS: usize = 1 << 14;

/// Everything that judging and reporting need.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The manifest.
    pub manifest: Manifest,
    /// Tables of samples by trial and repeat, aligned with the manifest. A repeat whose samples are lost has
    /// none.
    pub samples: Vec<Vec<Vec<Table>>>,
}

impl Run {
    /// Loads a run folder.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::from_folder(&RunFolder::open(path)?)
    }

    /// Loads a run from an open folder.
    pub fn from_folder(folder: &RunFolder) -> Result<Self, Error> {
        let mut manifest = folder.read_manifest()?;
        let mut samples = Vec::with_capacity(manifest.trials.len());
        let mut budget = Budget::default();
        for trial in &mut manifest.trials {
            let mut repeats = Vec::with_capacity(trial.repeats.len());
            for repeat in &mut trial.repeats {
                let samples = folder.samples(&repeat.samples)?;
                let tables =
                    samples.map_or_else(|| Ok(Vec::new()), |dir| tables_in(&dir, &mut budget))?;
                end_with_samples(repeat, &tables);
                folder.read_evidence(repeat, &mut budget)?;
                repeats.push(tables);
            }
            samples.push(repeats);
        }
        Ok(Self { manifest, samples })
    }
}

/// A recording that was killed has no recorded end; its last sample is taken as the end.
fn end_with_samples(repeat: &mut RepeatRecord, tables: &[Table]) {
    if repeat.released_ns > 0 && repeat.stopped_ns == 0 {
        let last = tables.iter().flat_map(|table| &table.time_ns).max();
        repeat.stopped_ns = last.copied().unwrap_or_default().max(repeat.released_ns);
    }
}

/// A file with the samples of one source, in the folder of its repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleFile {
    /// The source.
    pub source: String,
    /// Its name in the folder.
    pub name: OsString,
    /// Whether it is a stream rather than Parquet.
    pub is_stream: bool,
}

/// The files of one repeat, one per source: Parquet if present, otherwise the stream.
pub fn sample_files(folder: &Dir) -> Result<Vec<SampleFile>, Error> {
    let mut files: Vec<SampleFile> = Vec::new();
    for name in folder.names()? {
        let path = Path::new(&name);
        let is_stream = match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => false,
            Some("csv") => true,
            _ => continue,
        };
        files.push(SampleFile { source: source_of(path), name, is_stream });
    }
    files.sort_by(|a, b| (&a.source, a.is_stream).cmp(&(&b.source, b.is_stream)));
    files.dedup_by(|later, first| later.source == first.source);
    Ok(files)
}

impl SampleFile {
    /// Passes its samples to `take` in tables of some ten thousand rows at most, in the order of the file. If
    /// `take` returns `false`, reading ends early. The values are charged to the budget of the run.
    pub fn each(
        &self,
        folder: &Dir,
        budget: &mut Budget,
        take: &mut dyn FnMut(Table) -> bool,
    ) -> Result<(), Error> {
        self.each_table(folder, budget, &mut |table, _, _| Ok(take(table)))
    }

    /// All its samples, charged to the budget of the run.
    fn table(&self, folder: &Dir, budget: &mut Budget) -> Result<Table, Error> {
        let path = folder.path().join(&self.name);
        let mut assembler = Assembler::default();
        self.each_table(folder, budget, &mut |table, rows, budget| {
            let names = assembler.append(table, rows).map_err(|cause| damaged(&path, &cause))?;
            budget.take_names(names, &path)?;
            Ok(true)
        })?;
        Ok(assembler.finish(&self.source))
    }

    /// Passes its tables to `take`, with the rows that the file says it has, as far as it says that.
    fn each_table(
        &self,
        folder: &Dir,
        budget: &mut Budget,
        take: &mut dyn FnMut(Table, usize, &mut Budget) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let name = Path::new(&self.name);
        if self.is_stream {
            return Tail::open(folder, name)?
                .read(budget, &mut |table, budget| take(table, 0, budget));
        }
        let path = folder.path().join(name);
        let file = folder.read(name)?;
        // A hole takes no space on disk. An empty file has no offset to seek.
        budget.earn(seek(&file, SeekFrom::Hole(0)).unwrap_or(0));
        let batches = Batches::open(&file, &path, ROWS)?;
        let (rows, columns) = batches.size();
        budget.take(rows, columns, &path)?;
        for table in batches {
            if !take(table?, rows, budget)? {
                break;
            }
        }
        Ok(())
    }
}

/// Every table in `folder`.
pub fn read_tables(folder: &Path) -> Result<Vec<Table>, Error> {
    tables_in(&Dir::open(folder)?, &mut Budget::default())
}

pub(crate) fn tables_in(dir: &Dir, budget: &mut Budget) -> Result<Vec<Table>, Error> {
    sample_files(dir)?.iter().map(|file| file.table(dir, budget)).collect()
}

/// Samples folders not listed in the manifest: of a repeat that is still running, or during which the run was
/// killed.
pub fn unlisted_samples(folder: &RunFolder, manifest: &Manifest) -> Result<Vec<String>, Error> {
    let names = match folder.dir().dir("samples") {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        dir => dir?.names()?,
    };
    let repeats = manifest.trials.iter().flat_map(|trial| &trial.repeats);
    let listed: HashSet<&str> = repeats.map(|repeat| repeat.samples.as_str()).collect();
    let names = names.into_iter().map(|name| name.to_string_lossy().into_owned());
    Ok(names.filter(|name| !listed.contains(name.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::run_folder::parquet::to_parquet;
    use crate::run_folder::stream::SampleStream;
    use crate::run_folder::table::Column;

    const MANIFEST: &str = include_str!("../../../test-support/faults/one-cpu/manifest.json");

    /// A run folder of unknown origin, with a samples folder.
    fn run() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("manifest.json"), MANIFEST).unwrap();
        fs::create_dir_all(place.path().join("samples/trial-00-repeat-00")).unwrap();
        assert!(Run::load(place.path()).is_ok());
        place
    }

    #[test]
    fn links_and_fifos_in_a_run_folder_are_refused() {
        let place = run();
        let samples = place.path().join("samples/trial-00-repeat-00");
        let fifo = Dir::open(&samples).unwrap().make_fifo("io.csv").unwrap();
        let error = Run::load(place.path()).unwrap_err().to_string();
        assert!(error.contains("io.csv: it is not a regular file"), "{error}");
        drop(fifo);
        fs::remove_file(samples.join("io.csv")).unwrap();
        symlink("/etc/passwd", samples.join("io.parquet")).unwrap();
        let error = Run::load(place.path()).unwrap_err().to_string();
        assert!(error.contains("io.parquet: it is a link"), "{error}");

        let place = run();
        fs::remove_dir(place.path().join("samples/trial-00-repeat-00")).unwrap();
        symlink("/etc", place.path().join("samples/trial-00-repeat-00")).unwrap();
        let error = Run::load(place.path()).unwrap_err().to_string();
        assert!(error.contains("links are not followed"), "{error}");
    }

    #[test]
    fn samples_outside_of_the_run_folder_are_refused() {
        let place = run();
        for elsewhere in ["/etc", "../../etc"] {
            let text = MANIFEST.replace("\"trial-00-repeat-00\"", &format!("\"{elsewhere}\""));
            fs::write(place.path().join("manifest.json"), text).unwrap();
            let error = Run::load(place.path()).unwrap_err().to_string();
            assert!(error.contains("leads out of the run folder"), "{error}");
        }
    }

    #[test]
    fn two_repeats_with_the_same_samples_are_refused() {
        let place = run();
        let mut manifest: serde_json::Value = serde_json::from_str(MANIFEST).unwrap();
        let repeats = manifest["trials"][0]["repeats"].as_array_mut().unwrap();
        repeats.push(repeats[0].clone());
        fs::write(place.path().join("manifest.json"), manifest.to_string()).unwrap();
        let error = Run::load(place.path()).unwrap_err().to_string();
        assert!(error.contains("two repeats") && error.contains("crafted to do harm"), "{error}");
    }

    #[test]
    fn json_nested_too_deeply_is_an_error() {
        let place = run();
        let deep = format!("{{\"schema\": 1, \"x\": {}", "[".repeat(200_000));
        fs::write(place.path().join("manifest.json"), deep).unwrap();
        assert!(Run::load(place.path()).is_err());
        fs::write(place.path().join("manifest.json"), MANIFEST).unwrap();
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        fs::write(place.path().join("tune.json"), deep).unwrap();
        let folder = RunFolder::open(place.path()).unwrap();
        let error = folder.read_json::<serde_json::Value>("tune.json").unwrap_err().to_string();
        assert!(error.contains("recursion limit") && error.contains("tune.json"), "{error}");
    }

    /// Four megabytes of text that would be hundreds of megabytes in memory.
    #[test]
    fn json_with_too_many_values_is_an_error() {
        let place = run();
        let many = format!("[{}0]", "0,".repeat(1 << 21));
        fs::write(place.path().join("tune.json"), &many).unwrap();
        let folder = RunFolder::open(place.path()).unwrap();
        let error = folder.read_json::<serde_json::Value>("tune.json").unwrap_err().to_string();
        assert!(error.contains("tune.json") && error.contains("2097152 values"), "{error}");
        assert!(error.contains("line 1") && error.contains("ASSAY_UNLIMITED"), "{error}");
        let text = MANIFEST.replacen('{', &format!("{{\"x\": {many},"), 1);
        fs::write(place.path().join("manifest.json"), text).unwrap();
        let error = Run::load(place.path()).unwrap_err().to_string();
        assert!(error.contains("manifest.json") && error.contains("2097152 values"), "{error}");
    }

    #[test]
    fn a_recording_that_was_killed_ends_with_its_last_sample() {
        let table = |times: &[u64]| Table {
            source: "io".to_owned(),
            time_ns: times.to_vec(),
            subject: vec![0; times.len()],
            subjects: vec!["a".to_owned()],
            columns: Vec::new(),
        };
        let begun = |stopped_ns| RepeatRecord {
            released_ns: 5,
            stopped_ns,
            ..RepeatRecord::without_a_window("trial-00-repeat-00", "")
        };
        let end = |mut repeat: RepeatRecord, tables: &[Table]| {
            end_with_samples(&mut repeat, tables);
            repeat.stopped_ns
        };
        assert_eq!(end(begun(0), &[table(&[5, 9]), table(&[7])]), 9);
        assert_eq!(end(begun(0), &[]), 5, "a window of length zero");
        assert_eq!(end(begun(8), &[table(&[9])]), 8);
        let without = RepeatRecord::without_a_window("trial-00-repeat-00", "");
        assert_eq!(end(without, &[table(&[9])]), 0);
    }

    #[test]
    fn samples_not_listed_in_the_manifest_are_found() {
        let place = run();
        let folder = RunFolder::open(place.path()).unwrap();
        let manifest = folder.read_manifest().unwrap();
        assert_eq!(unlisted_samples(&folder, &manifest).unwrap(), [""; 0]);
        fs::create_dir(place.path().join("samples/trial-00-repeat-07")).unwrap();
        assert_eq!(unlisted_samples(&folder, &manifest).unwrap(), ["trial-00-repeat-07"]);
    }

    #[test]
    fn files_are_read_in_parts_and_parquet_before_streams() {
        let place = tempfile::tempdir().unwrap();
        let mut stream = SampleStream::create(place.path(), "io", &["bytes".to_owned()]).unwrap();
        for time in 0..5 {
            let columns = vec![Column { name: "bytes".to_owned(), values: vec![Some(time)] }];
            let (time_ns, subjects) = (vec![time], vec!["a".to_owned()]);
            let source = "io".to_owned();
            stream.append(&Table { source, time_ns, subject: vec![0], subjects, columns }).unwrap();
        }
        let whole = read_tables(place.path()).unwrap();
        for is_stream in [true, false] {
            let dir = Dir::open(place.path()).unwrap();
            let files = sample_files(&dir).unwrap();
            assert_eq!((files.len(), files[0].is_stream), (1, is_stream));
            let mut times = Vec::new();
            let mut take = |table: Table| {
                times.extend(table.time_ns);
                true
            };
            files[0].each(&dir, &mut Budget::default(), &mut take).unwrap();
            assert_eq!(times, whole[0].time_ns);
            if is_stream {
                to_parquet(place.path()).unwrap();
            }
        }
    }
}
