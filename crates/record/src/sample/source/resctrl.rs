//! `resctrl`: occupancy and memory bandwidth of each last-level cache, of the whole machine
//! (Documentation/filesystems/resctrl.rst). Each control group includes its monitoring groups, so the machine
//! is the sum over control groups, including the root.

use std::time::Duration;

use assay_sys::kernel::{RereadFile, Root, hardware_counters};

use super::{Depth, Rows, SECOND, Source, boxed, names};
use crate::sample::registry::{Inclusion, SourceInfo};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "resctrl",
    inclusion: Inclusion::OnRequest,
    open: |root, _| boxed(Resctrl::open(root)),
};

const FOLDER: &str = "/sys/fs/resctrl";
/// Directories at the top that are not control groups.
const OTHERS: [&str; 3] = ["info", "mon_groups", "mon_data"];
/// Files of a domain, in the order of the columns.
const FILES: [&str; 3] = ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"];

/// All domains of the last-level cache.
pub(super) struct Resctrl {
    /// A domain, and for each column one file per control group.
    domains: Vec<(String, [Vec<RereadFile>; 3])>,
    columns: Vec<String>,
    buffer: Vec<u8>,
}

impl Resctrl {
    pub(super) fn open(root: &Root) -> Result<Self, String> {
        hardware_counters::resctrl(root)?;
        let groups = groups(root)?;
        let listed = root.directories(format!("{FOLDER}/mon_data"));
        let mut domains = Vec::new();
        for name in listed.map_err(|error| error.to_string())? {
            let Some(id) = name.strip_prefix("mon_") else { continue };
            let keep = |file: &str| -> Vec<RereadFile> {
                let keep = |group: &String| {
                    root.open_reread(format!("{group}/mon_data/{name}/{file}")).ok()
                };
                groups.iter().filter_map(keep).collect()
            };
            domains.push((id.to_owned(), FILES.map(keep)));
        }
        if domains.is_empty() {
            return Err(format!("{FOLDER}/mon_data shows no domain"));
        }
        domains.sort_by(|one, other| one.0.cmp(&other.0));
        let columns = names(&["llc_occupancy_bytes", "mbm_total_bytes", "mbm_local_bytes"]);
        Ok(Self { domains, columns, buffer: Vec::new() })
    }
}

fn groups(root: &Root) -> Result<Vec<String>, String> {
    let inside = root.directories(FOLDER).map_err(|error| error.to_string())?;
    let control = inside.iter().filter(|name| !OTHERS.contains(&name.as_str()));
    let inner = control.map(|name| format!("{FOLDER}/{name}"));
    Ok(std::iter::once(FOLDER.to_owned()).chain(inner).collect())
}

/// The sum over groups; `None` if the CPU has no such monitor or no free identifier (the kernel then writes
/// `Unavailable` or `Error`): a partial sum would be misleading.
fn sum(files: &[RereadFile], buffer: &mut Vec<u8>) -> Option<u64> {
    if files.is_empty() {
        return None;
    }
    files.iter().try_fold(0_u64, |sum, file| {
        let text = std::str::from_utf8(file.read_record(buffer).ok()?).ok()?;
        sum.checked_add(text.trim().parse().ok()?)
    })
}

impl Source for Resctrl {
    fn name(&self) -> &'static str {
        INFO.name
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        self.domains.iter().map(|(name, _)| name.clone()).collect()
    }

    fn files(&self) -> usize {
        self.domains.iter().flat_map(|(_, files)| files).map(Vec::len).sum()
    }

    fn period(&self) -> Duration {
        SECOND
    }

    fn reasons(&self) -> Vec<(String, String)> {
        let lacks = |at: &usize| self.domains.iter().all(|(_, files)| files[*at].is_empty());
        let why = |at: usize| {
            let reason = format!("this CPU has no monitor `{}`", FILES[at]);
            (format!("resctrl.{}", self.columns[at]), reason)
        };
        (0..FILES.len()).filter(lacks).map(why).collect()
    }

    fn read(&mut self, rows: &mut Rows, depth: Depth) {
        if depth == Depth::Essential {
            return;
        }
        for (index, (_, files)) in self.domains.iter().enumerate() {
            let [occupancy, total, local] = files;
            let values = [occupancy, total, local].map(|files| sum(files, &mut self.buffer));
            rows.add(index, &values);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn monitor(tree: &Path, group: &str, domain: &str, values: [&str; 3]) {
        let folder = tree.join(format!("sys/fs/resctrl{group}/mon_data/mon_{domain}"));
        fs::create_dir_all(&folder).unwrap();
        for (file, value) in FILES.iter().zip(values) {
            fs::write(folder.join(file), format!("{value}\n")).unwrap();
        }
    }

    fn read(root: &Root) -> Vec<[Option<u64>; 3]> {
        let mut source = Resctrl::open(root).unwrap();
        let mut rows = source.rows(|| 7);
        source.read(&mut rows, Depth::Whole);
        let columns = &rows.table().columns;
        (0..source.domains.len())
            .map(|at| [0, 1, 2].map(|column| columns[column].values[at]))
            .collect()
    }

    #[test]
    fn the_machine_is_the_sum_of_its_control_groups() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("sys/fs/resctrl/info/L3_MON")).unwrap();
        monitor(tree.path(), "", "L3_00", ["100", "2000", "1500"]);
        monitor(tree.path(), "", "L3_01", ["7", "Unavailable", "3"]);
        monitor(tree.path(), "/batch", "L3_00", ["11", "22", "33"]);
        monitor(tree.path(), "/batch", "L3_01", ["1", "2", "3"]);
        // A monitoring group is already included in its control group.
        monitor(tree.path(), "/mon_groups/one", "L3_00", ["50", "50", "50"]);
        let rows = read(&Root::at(tree.path()));
        assert_eq!(rows[0], [Some(111), Some(2022), Some(1533)]);
        assert_eq!(rows[1], [Some(8), None, Some(6)]);
    }

    #[test]
    fn missing_monitors_of_a_cpu_are_reported() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("sys/fs/resctrl/info/L3_MON")).unwrap();
        let folder = tree.path().join("sys/fs/resctrl/mon_data/mon_L3_00");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("llc_occupancy"), "5\n").unwrap();
        let root = Root::at(tree.path());
        let lacking: Vec<String> =
            Resctrl::open(&root).unwrap().reasons().into_iter().map(|(name, _)| name).collect();
        assert_eq!(lacking, ["resctrl.mbm_total_bytes", "resctrl.mbm_local_bytes"]);
        assert_eq!(read(&root), [[Some(5), None, None]]);
    }
}
