//! Files of samples, read as `judge`, `export` and `export --follow` read them.

use std::path::Path;

use assay_files::Dir;
use assay_run_folder::{Budget, Tail, read_tables, sample_files};

use super::{Reader, answer};

pub(super) fn stream() -> Reader {
    reader("io.arrows")
}

pub(super) fn parquet() -> Reader {
    reader("io.parquet")
}

/// Reads a file of this name in a folder of its own, in memory where that can be.
fn reader(name: &'static str) -> Reader {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let place = place.expect("a folder for inputs");
    let dir = Dir::open(place.path()).expect("a folder for inputs");
    let mut file = dir.create(name).expect("a file for inputs");
    Box::new(move |bytes| {
        use std::io::{Seek, Write};
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(bytes));
        if let Err(error) = written {
            return answer(&error);
        }
        let whole = read_tables(place.path());
        let mut rows = 0;
        for found in sample_files(&dir).unwrap_or_default() {
            let _ = found.each(&dir, &mut Budget::default(), &mut |table| {
                rows += table.time_ns.len();
                true
            });
        }
        if name == "io.arrows"
            && let Ok(mut tail) = Tail::open(&dir, Path::new(name))
        {
            let _ = tail.read(&mut Budget::default(), &mut |table| {
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
