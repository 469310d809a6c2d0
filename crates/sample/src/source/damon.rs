//! `damon`: activity of DAMON schemes that the host runs on its own, and the CPU time of their threads
//! (Documentation/admin-guide/mm/damon/usage.rst).

use std::time::Duration;

use assay_kernel::damon::{Scheme, schemes};
use assay_kernel::{RereadFile, Root, counters, task};

use super::{Depth, Rows, SECOND, Source, boxed, names};
use crate::registry::{Inclusion, SourceInfo};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "damon",
    subject: "each scheme of DAMON that is on, `kdamond0.0.0:pageout`",
    what: "bytes that a scheme tried and applied, and the CPU time of its thread",
    files: "`/sys/kernel/mm/damon/admin/kdamonds`, `/sys/module/damon_reclaim/parameters`, \
            `/proc/PID/schedstat`",
    pace: "1 s",
    inclusion: Inclusion::Always,
    since: "damon_reclaim 5.16, CONFIG_DAMON_SYSFS 5.18; counts of bytes where `refresh_ms` \
            (6.17) is not 0",
    cost: "one file for a thread, two more where bytes are kept up to date",
    open: |root, _| boxed(Damon::open(root)),
};

const COLUMNS: [&str; 3] = ["tried_bytes", "applied_bytes", "cpu_ns"];

/// The open files of a scheme.
struct SchemeFiles {
    name: String,
    /// Bytes tried and applied; `None` if the kernel does not keep them up to date.
    bytes: [Option<RereadFile>; 2],
    /// Of its thread, which may be shared with other schemes.
    schedstat: Option<RereadFile>,
}

/// All schemes that were on when the run began.
pub(super) struct Damon {
    schemes: Vec<SchemeFiles>,
    columns: Vec<String>,
    buffer: Vec<u8>,
}

impl Damon {
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        let schemes: Vec<SchemeFiles> =
            schemes(root)?.iter().map(|scheme| scheme_files(root, scheme)).collect();
        if schemes.is_empty() {
            return Err("no scheme of DAMON is on".to_owned());
        }
        Ok(Self { schemes, columns: names(&COLUMNS), buffer: Vec::new() })
    }
}

fn scheme_files(root: &Root, scheme: &Scheme) -> SchemeFiles {
    let current = |path| scheme.is_current.then(|| root.open_reread(path).ok()).flatten();
    let schedstat =
        scheme.pid.and_then(|pid| root.open_reread(format!("/proc/{pid}/schedstat")).ok());
    SchemeFiles {
        name: scheme.name.clone(),
        bytes: [&scheme.tried, &scheme.applied].map(current),
        schedstat,
    }
}

impl Source for Damon {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.schemes.iter().map(|scheme_files| scheme_files.name.clone()).collect()
    }

    fn files(&self) -> usize {
        let open_files = |scheme_files: &SchemeFiles| {
            scheme_files.bytes.iter().flatten().count()
                + usize::from(scheme_files.schedstat.is_some())
        };
        self.schemes.iter().map(open_files).sum()
    }

    fn period(&self) -> Duration {
        SECOND
    }

    fn reasons(&self) -> Vec<(String, String)> {
        let mut reasons = Vec::new();
        let lacks =
            |at: usize| self.schemes.iter().all(|scheme_files| scheme_files.bytes[at].is_none());
        for at in (0..2).filter(|at| lacks(*at)) {
            let why = "the kernel updates it only on request (`refresh_ms` of the \
                       kdamond is 0, or there is none before 6.17), which would change the host";
            reasons.push((format!("damon.{}", COLUMNS[at]), why.to_owned()));
        }
        if self.schemes.iter().all(|scheme_files| scheme_files.schedstat.is_none()) {
            let why = "no /proc/PID/schedstat of a kdamond (CONFIG_SCHED_INFO)";
            reasons.push((format!("damon.{}", COLUMNS[2]), why.to_owned()));
        }
        reasons
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        let Self { schemes, buffer, .. } = self;
        for (index, scheme_files) in schemes.iter().enumerate() {
            let [tried, applied] = scheme_files.bytes.each_ref().map(|file| {
                let text = file.as_ref()?.read_record(buffer).ok()?;
                counters::number(text)
            });
            let cpu_ns = scheme_files.schedstat.as_ref().and_then(|file| {
                let text = file.read_record(buffer).ok()?;
                Some(task::schedstat(text)?.run_ns)
            });
            rows.add(index, &[tried, applied, cpu_ns]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const KDAMOND: &str = "sys/kernel/mm/damon/admin/kdamonds/0";

    fn put(tree: &Path, path: &str, text: &str) {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    fn tree(refresh_ms: &str) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let scheme = format!("{KDAMOND}/contexts/0/schemes/0");
        for (path, text) in [
            (format!("{KDAMOND}/state"), "on"),
            (format!("{KDAMOND}/pid"), "7"),
            (format!("{KDAMOND}/refresh_ms"), refresh_ms),
            (format!("{scheme}/action"), "pageout"),
            (format!("{scheme}/stats/sz_tried"), "8192"),
            (format!("{scheme}/stats/sz_applied"), "4096"),
            ("proc/7/schedstat".to_owned(), "123 4 5"),
        ] {
            put(tree.path(), &path, text);
        }
        tree
    }

    fn row(tree: &tempfile::TempDir) -> (Damon, Vec<Option<u64>>) {
        let mut source = Damon::open(&Root::at(tree.path())).unwrap();
        let mut rows = source.rows(|| 3);
        source.read(&mut rows, Depth::Whole);
        let values = rows.table().columns.iter().map(|column| column.values[0]).collect();
        (source, values)
    }

    #[test]
    fn a_scheme_has_bytes_tried_and_applied_and_the_time_of_its_thread() {
        let (source, values) = row(&tree("1000"));
        assert_eq!(values, [Some(8192), Some(4096), Some(123)]);
        assert_eq!(source.subjects(), ["kdamond0.0.0:pageout"]);
        assert_eq!((source.reasons(), source.files()), (Vec::new(), 3));
    }

    #[test]
    fn counts_that_the_kernel_does_not_update_are_null() {
        let (source, values) = row(&tree("0"));
        assert_eq!(values, [None, None, Some(123)]);
        let reasons = source.reasons();
        assert_eq!(reasons.len(), 2);
        assert!(reasons[1].0 == "damon.applied_bytes" && reasons[1].1.contains("refresh_ms"));
    }

    #[test]
    fn without_an_active_kdamond_there_is_a_reason() {
        let tree = tree("0");
        put(tree.path(), &format!("{KDAMOND}/state"), "off");
        let why = Damon::open(&Root::at(tree.path())).err().unwrap();
        assert!(why.contains("no scheme of DAMON is on"), "{why}");
    }
}
