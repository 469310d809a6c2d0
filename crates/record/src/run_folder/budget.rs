//! Limit on all samples of one run together: limits on single files do not help if a folder may hold any
//! number of files.

use std::path::Path;

use crate::run_folder::error::Error;
use crate::run_folder::limit;

/// What may still be read of the samples of one run.
#[derive(Debug)]
pub struct Budget {
    values: u64,
    /// Values that its files may add by their size.
    to_earn: u64,
    /// Bytes of distinct names: a name of 4096 bytes takes only a byte or two in a Parquet file, where it is
    /// stored as its difference from the one before.
    names: u64,
    /// Bytes of the texts of evidence.
    evidence: u64,
}

impl Default for Budget {
    fn default() -> Self {
        let values = limit::values_of_any_run();
        let to_earn = limit::values_of_a_run() - values;
        Self { to_earn, ..Self::new(values, limit::names_of_a_run()) }
    }
}

impl Budget {
    /// A budget of this many values, and of names that cost this many bytes.
    #[must_use]
    pub fn new(values: u64, names: u64) -> Self {
        Self { values, to_earn: 0, names, evidence: limit::evidence_of_a_run() }
    }

    /// The memory cost of a name: its bytes and a constant overhead.
    #[must_use]
    pub fn cost(name: &str) -> u64 {
        const BESIDE: u64 = 64;
        name.len() as u64 + BESIDE
    }

    /// Takes the cost of new names from the budget; an error naming the file if it is exhausted.
    pub fn take_names(&mut self, cost: u64, path: &Path) -> Result<(), Error> {
        take(&mut self.names, cost, path, "have more names of subjects")
    }

    /// Takes a document of evidence from the budget; an error naming the file if it is exhausted.
    pub(crate) fn take_evidence(&mut self, bytes: usize, path: &Path) -> Result<(), Error> {
        take(&mut self.evidence, bytes as u64, path, "hold more evidence")
    }

    /// Adds the values that this many bytes of samples may hold.
    pub(crate) fn earn(&mut self, bytes: u64) {
        let earned = bytes.saturating_mul(limit::VALUES_PER_BYTE).min(self.to_earn);
        self.to_earn -= earned;
        self.values += earned;
    }

    /// Takes the values of some rows from the budget; an error naming the file if it is exhausted.
    pub(crate) fn take(&mut self, rows: usize, columns: usize, path: &Path) -> Result<(), Error> {
        let values = (rows as u64).saturating_mul(columns as u64);
        take(&mut self.values, values, path, "hold more values for their size")
    }
}

fn take(left: &mut u64, amount: u64, path: &Path, what: &str) -> Result<(), Error> {
    *left = left.checked_sub(amount).ok_or_else(|| {
        let why = format!("the files up to this one {what} than are read of a run");
        Error::refused("read", path, &why).with_hint(limit::HOW_TO_LIFT)
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_sys::files::Dir;

    use super::*;
    use crate::run_folder::parquet::to_parquet;
    use crate::run_folder::run::tables_in;
    use crate::run_folder::stream::SampleStream;
    use crate::run_folder::table::{Column, Table};

    /// Two files of two rows and three columns.
    fn folder(place: &Path) -> Dir {
        for source in ["cpu", "io"] {
            let table = Table {
                source: source.to_owned(),
                time_ns: vec![1, 2],
                subject: vec![0, 0],
                subjects: vec!["a".to_owned()],
                columns: vec![Column { name: "bytes".to_owned(), values: vec![None, None] }],
            };
            let mut stream = SampleStream::create(place, source, &["bytes".to_owned()]).unwrap();
            stream.append(&table).unwrap();
        }
        Dir::open(place).unwrap()
    }

    #[test]
    fn the_files_of_a_run_share_one_budget() {
        let place = tempfile::tempdir().unwrap();
        let dir = folder(place.path());
        for _ in ["streams", "Parquet"] {
            let mut enough = Budget::new(12, u64::MAX);
            assert_eq!(tables_in(&dir, &mut enough).unwrap().len(), 2);
            assert_eq!(enough.values, 0);
            let mut short = Budget::new(11, u64::MAX);
            let error = tables_in(&dir, &mut short).unwrap_err().to_string();
            assert!(error.contains("io.") && error.contains("of a run"), "{error}");
            assert!(error.contains("ASSAY_UNLIMITED"), "{error}");
            to_parquet(place.path()).unwrap();
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    /// Counters that stand still, or have no values, take next to no space: 0.7 MB were 3 GiB in memory.
    #[test]
    fn a_run_holds_values_in_proportion_to_the_size_of_its_files() {
        let path = Path::new("io.parquet");
        let mut budget = Budget::default();
        budget.earn(700_000);
        let error = budget.take(14 << 20, 1, path).unwrap_err().to_string();
        assert!(error.contains("more values for their size"), "{error}");
        budget.take(13 << 20, 1, path).unwrap();
        budget.earn(u64::MAX);
        budget.take(179 << 20, 1, path).unwrap();
        assert!(budget.take(1 << 20, 1, path).is_err(), "there are limits to any run");
    }

    /// Names of the maximum length, all of them distinct.
    #[test]
    fn distinct_names_share_one_budget() {
        let place = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c"].map(|end| format!("{}{end}", "x".repeat(4095)));
        let table = Table {
            source: "io".to_owned(),
            time_ns: vec![1; 6],
            subject: vec![0, 1, 0, 1, 2, 0],
            subjects: names.to_vec(),
            columns: vec![Column { name: "bytes".to_owned(), values: vec![None; 6] }],
        };
        let mut stream = SampleStream::create(place.path(), "io", &["bytes".to_owned()]).unwrap();
        stream.append(&table).unwrap();
        let dir = Dir::open(place.path()).unwrap();
        let whole: u64 = names.iter().map(|name| Budget::cost(name)).sum();
        for file in ["io.csv", "io.parquet"] {
            let mut enough = Budget::new(u64::MAX, whole);
            assert_eq!(tables_in(&dir, &mut enough).unwrap()[0].subjects, names);
            assert_eq!(enough.names, 0, "a repeated name costs nothing");
            for names in [8192, whole - 1] {
                let mut short = Budget::new(u64::MAX, names);
                let error = tables_in(&dir, &mut short).unwrap_err().to_string();
                assert!(error.contains(file) && error.contains("more names"), "{error}");
                assert!(error.contains("ASSAY_UNLIMITED"), "{error}");
            }
            to_parquet(place.path()).unwrap();
        }
    }
}
