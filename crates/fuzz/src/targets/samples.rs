//! Targets: files of samples, read as in `judge` and `report --as`.

use std::path::Path;

use assay_record::run_folder::{Budget, read_tables, sample_files};
use assay_sys::files::Dir;

use assay_fuzzer::{Reader, answer};

pub(super) fn stream() -> Reader {
    reader("io.csv")
}

pub(super) fn parquet() -> Reader {
    reader("io.parquet")
}

/// Reads a file of this name in a temporary folder, in memory if possible.
fn reader(name: &'static str) -> Reader {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("a folder for inputs");
    let dir = Dir::open(folder.path()).expect("a folder for inputs");
    let mut file = dir.create(name).expect("a file for inputs");
    Box::new(move |bytes| {
        use std::io::{Seek, Write};
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(bytes));
        if let Err(error) = written {
            return answer(&error);
        }
        let whole = read_tables(folder.path());
        let mut rows = 0;
        for file in sample_files(&dir).unwrap_or_default() {
            let _ = file.each(&dir, &mut Budget::default(), &mut |table| {
                rows += table.time_ns.len();
                true
            });
        }
        match whole {
            Ok(tables) => {
                let columns = tables.first().map_or(0, |table| table.columns.len());
                let rows = "y".repeat(rows.checked_ilog2().map_or(0, |log| log as usize + 1));
                answer(&format!("{} {rows}", "x".repeat(columns.min(30))))
            }
            Err(error) => answer(&error.cause),
        }
    })
}
