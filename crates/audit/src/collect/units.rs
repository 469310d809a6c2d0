//! Settings of resources in the files of systemd's units, for the units that have groups: what of a unit is known without asking systemd.

mod search;

use std::collections::{BTreeMap, BTreeSet};

use assay_host::facts::owner::unit_of_system;
use assay_sys::kernel::Root;

use super::systemd::Systemd;
use crate::snapshot::{Hierarchy, MAX_FILE, MAX_UNIT_BYTES, MAX_UNITS, UnitFile};
use crate::unit_settings;
use search::{Place, Search};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Files by unit, those with settings of resources only.
    pub(super) units: BTreeMap<String, Vec<UnitFile>>,
    /// Units whose files were not read, with the reason.
    pub(super) left_out: Option<String>,
}

/// The units of the systemd that made these groups; none if another program did.
pub(super) fn read(root: &Root, systemd: Systemd, hierarchies: &[Hierarchy]) -> Found {
    let mut found = Found::default();
    let search = match systemd {
        Systemd::None => return found,
        Systemd::Elsewhere(why) => Err(why.to_owned()),
        Systemd::Here => Search::new(root),
    };
    let search = match search {
        Ok(search) => search,
        Err(why) => return Found { left_out: summary(&[why]), ..found },
    };
    let names: BTreeSet<&str> = hierarchies
        .iter()
        .flat_map(|hierarchy| &hierarchy.groups)
        .filter_map(|group| unit_of_system(&group.path))
        .collect();
    let (mut left_out, mut bytes) = (Vec::new(), 0);
    for name in names {
        match settings(root, &search, name) {
            Ok(files) if files.is_empty() => {}
            Ok(files) => {
                let size = name.len() + files.iter().map(UnitFile::size).sum::<usize>();
                if bytes + size > MAX_UNIT_BYTES || found.units.len() >= MAX_UNITS {
                    left_out.push(format!("{name}: there is no room for more"));
                    continue;
                }
                bytes += size;
                found.units.insert(name.to_owned(), files);
            }
            Err(why) => left_out.push(format!("{name}: {why}")),
        }
    }
    found.left_out = summary(&left_out);
    found
}

/// The first of them, and how many there are.
fn summary(left_out: &[String]) -> Option<String> {
    const MOST: usize = 512;
    let first: String = assay_sys::escape::line(left_out.first()?).chars().take(MOST).collect();
    Some(match left_out.len() {
        1 => first,
        number => format!("{number} units; {first}"),
    })
}

/// Files with settings, in the order in which systemd reads them.
fn settings(root: &Root, search: &Search, name: &str) -> Result<Vec<UnitFile>, String> {
    let mut places = Vec::new();
    match search.fragment(root, name)? {
        Place::Masked => return Ok(Vec::new()),
        Place::Missing => {}
        Place::File(path) => places.push(path),
    }
    places.extend(search.drop_ins(root, name)?);
    let mut files = Vec::new();
    for path in places {
        let text = root.read_at_most(&path, MAX_FILE).map_err(|error| error.to_string())?;
        let settings = unit_settings(&text);
        if !settings.is_empty() {
            files.push(UnitFile { path, settings });
        }
    }
    UnitFile::excess(&files).map_or(Ok(files), |why| Err(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;

    /// A host with systemd and these files.
    fn host(files: &[(&str, &str)]) -> (TempDir, Root) {
        let managed = [("run/systemd/system/x", ""), ("proc/1/cgroup", "0::/init.scope\n")];
        crate::collect::tests::host(&[&managed[..], files].concat())
    }

    fn link(folder: &Path, from: &str, to: &str) {
        let from = folder.join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        symlink(to, from).unwrap();
    }

    /// The settings of a unit, or why there are none.
    fn of(root: &Root, name: &str) -> Result<Vec<String>, String> {
        let files = settings(root, &Search::new(root)?, name)?;
        Ok(files.into_iter().flat_map(|file| file.settings).collect())
    }

    #[test]
    fn a_unit_is_read_with_its_drop_ins_in_the_order_of_their_names() {
        let (_folder, root) = host(&[
            ("usr/lib/systemd/system/a-b.service", "[Service]\nCPUWeight=1\n"),
            ("usr/lib/systemd/system/a-.service.d/70-x.conf", "[Service]\nCPUWeight=7\n"),
            ("etc/systemd/system/a-b.service.d/50-x.conf", "[Service]\nCPUWeight=5\n"),
            ("usr/lib/systemd/system/a-b.service.d/50-x.conf", "[Service]\nCPUWeight=99\n"),
            ("etc/systemd/system.control/a-b.service.d/50-C.conf", "[Service]\nCPUWeight=4\n"),
            ("run/systemd/system/service.d/60-all.conf", "[Service]\nTasksMax=6\n"),
            ("etc/systemd/system/a-b.service.d/90-x.conf.bak", "[Service]\nCPUWeight=9\n"),
        ]);
        let lines = ["CPUWeight=1", "CPUWeight=4", "CPUWeight=5", "TasksMax=6", "CPUWeight=7"];
        assert_eq!(of(&root, "a-b.service").unwrap(), lines);
    }

    #[test]
    fn a_file_of_etc_hides_that_of_usr_and_an_instance_has_its_template() {
        let (_folder, root) = host(&[
            ("usr/lib/systemd/system/a.service", "[Service]\nCPUWeight=1\n"),
            ("etc/systemd/system/a.service", "[Service]\nCPUWeight=2\n"),
            ("usr/lib/systemd/system/b@.service", "[Service]\nCPUWeight=3\n"),
            ("etc/systemd/system/b@.service.d/x.conf", "[Service]\nIOWeight=4\n"),
            ("etc/systemd/system/b@1.service.d/y.conf", "[Service]\nTasksMax=5\n"),
        ]);
        assert_eq!(of(&root, "a.service").unwrap(), ["CPUWeight=2"]);
        let lines = ["CPUWeight=3", "IOWeight=4", "TasksMax=5"];
        assert_eq!(of(&root, "b@1.service").unwrap(), lines);
        assert!(of(&root, "none.service").unwrap().is_empty());
    }

    #[test]
    fn links_are_followed_only_within_the_folders_of_units() {
        let text = "[Service]\nCPUWeight=2\n";
        let (folder, root) = host(&[
            ("usr/lib/systemd/system/a.service", text),
            ("opt/b.service", text),
            ("usr/lib/systemd/system/c.service", text),
            ("etc/systemd/system/alias.service.d/x.conf", "[Service]\nIOWeight=3\n"),
        ]);
        let top = folder.path();
        link(top, "etc/systemd/system/a.service", "/usr/lib/systemd/system/a.service");
        link(top, "etc/systemd/system/b.service", "/opt/b.service");
        link(top, "etc/systemd/system/c.service", "/dev/null");
        link(top, "usr/lib/systemd/system/alias.service", "a.service");
        let lines = ["CPUWeight=2", "IOWeight=3"];
        assert_eq!(of(&root, "a.service").unwrap(), lines, "with drop-ins by its other name");
        let own = top.join("usr/lib/systemd/system/a.service.d");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("x.conf"), "[Service]\nIOWeight=4\n").unwrap();
        let lines = ["CPUWeight=2", "IOWeight=4"];
        assert_eq!(of(&root, "a.service").unwrap(), lines, "its own name comes first");
        fs::remove_dir_all(own).unwrap();
        assert!(of(&root, "b.service").unwrap_err().contains("/opt/b.service"));
        assert!(of(&root, "c.service").unwrap().is_empty(), "masked");
        link(top, "etc/systemd/system/a.service.d/x.conf", "/dev/null");
        assert_eq!(of(&root, "a.service").unwrap(), ["CPUWeight=2"]);
        link(top, "run/systemd/system/a.service.d", "/opt");
        assert!(of(&root, "a.service").unwrap_err().contains("a.service.d is a link"));
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_not_taken_for_a_missing_one() {
        let unit = ("usr/lib/systemd/system/a.service", "[Service]\nCPUWeight=2\n");
        let why = |from: &str, to: &str| {
            let (folder, root) = host(&[unit]);
            link(folder.path(), from, to);
            read(&root, Systemd::find(&root), &[]).left_out
        };
        assert_eq!(why("etc/systemd/system.attached/a.service", "x"), None);
        // A disk that is not mounted.
        assert!(why("etc/systemd/system", "none").unwrap().contains("/etc/systemd/system"));
        assert!(why("etc/systemd", "none/here").unwrap().contains("/etc/systemd"));
        let (_folder, root) = host(&[unit, ("etc/systemd/system", "a file")]);
        assert!(read(&root, Systemd::find(&root), &[]).left_out.is_some());
    }

    #[test]
    fn links_do_not_lead_out_of_another_root() {
        let (folder, root) = host(&[("x", "")]);
        link(folder.path(), "usr/lib/systemd/system", "/etc");
        assert!(read(&root, Systemd::find(&root), &[]).left_out.unwrap().contains("leads out of"));
    }

    #[test]
    fn a_unit_with_more_settings_than_any_has_is_left_out() {
        let text = format!("[Service]\n{}", "IOReadIOPSMax=/dev/sda 1\n".repeat(2000));
        let (_folder, root) = host(&[("etc/systemd/system/a.service", &text)]);
        assert!(of(&root, "a.service").is_err());
    }

    #[test]
    fn units_are_those_below_slices_alone() {
        assert_eq!(unit_of_system("/a.slice/a-b.slice/c.service"), Some("c.service"));
        assert_eq!(unit_of_system("/init.scope"), Some("init.scope"));
        for path in ["/", "/a", "/user.slice/user@1.service/a.service", "/x/a.service", "/.slice"] {
            assert_eq!(unit_of_system(path), None, "{path}");
        }
    }
}
