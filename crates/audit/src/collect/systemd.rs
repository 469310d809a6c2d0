//! Which systemd made the groups here, and whether the files here are those that it reads.

use assay_sys::kernel::Root;
use assay_sys::kernel::parse::mountinfo;

use crate::snapshot::MAX_FILE;

/// Bytes of a table of mounts.
const MAX_MOUNTS: u64 = 64 << 20;

/// Why files are not looked at.
const ELSEWHERE: &str = "the files here are not those of the systemd that made the groups, as in a container: audit it from the host, or \
                         with its root (--root DIR)";

/// The first process, as far as it made the groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Systemd {
    /// It is no systemd, or made no groups that are seen here.
    None,
    /// It made them, and has other files than those here, for this reason.
    Elsewhere(&'static str),
    /// It made them, and its files are those here.
    Here,
}

impl Systemd {
    pub(super) fn find(root: &Root) -> Self {
        if !made_the_groups(root) {
            Self::None
        } else if root.is_real() && !has_its_files(root) {
            // Below another root there may be no link to that of the first process.
            Self::Elsewhere(ELSEWHERE)
        } else if root.is_directory("/run/systemd/system") {
            Self::Here
        } else {
            Self::None
        }
    }
}

/// Whether the first process is a systemd that made the groups here: it is in `/init.scope`, also where it is shown from inside of a
/// container, as `/../../init.scope`. A container without one may see groups of its host, and has unit files that nobody reads.
fn made_the_groups(root: &Root) -> bool {
    let groups = root.read_at_most("/proc/1/cgroup", MAX_FILE).unwrap_or_default();
    let mut paths = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let is_own = |mut path: &str| {
        while let Some(rest) = path.strip_prefix("/..") {
            path = rest;
        }
        path == "/init.scope"
    };
    paths.any(is_own)
}

/// Whether this process and the first one have the same root. Only root may follow the link to that of the first one; what is mounted
/// there everyone may read.
fn has_its_files(root: &Root) -> bool {
    if let (Ok(own), Ok(its)) = (root.file_id("/"), root.file_id("/proc/1/root")) {
        return own == its;
    }
    let top = |process: &str| {
        let table = root.read_at_most(format!("/proc/{process}/mountinfo"), MAX_MOUNTS).ok()?;
        let mounts = mountinfo::parse(&table);
        let top = mounts.into_iter().rfind(|mount| mount.target.as_os_str() == "/")?;
        Some((top.device, top.root))
    };
    top("self").is_some_and(|own| top("1") == Some(own))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::collect::tests::host;

    #[test]
    fn only_the_systemd_that_made_the_groups_is_asked() {
        for (groups, is_ours) in [
            ("0::/init.scope\n", true),
            ("12:cpu:/\n1:name=systemd:/init.scope\n", true),
            ("0::/../../init.scope\n", true),
            ("0::/system.slice/docker-0a1b.scope/init.scope\n", false),
            ("0::/\n", false),
        ] {
            let (_folder, root) = host(&[("run/systemd/system/x", ""), ("proc/1/cgroup", groups)]);
            assert_eq!(Systemd::find(&root) == Systemd::Here, is_ours, "{groups}");
        }
    }

    #[test]
    fn a_container_with_the_groups_of_its_host_has_other_files() {
        let root_of_first = |to: &str| {
            let (folder, root) = host(&[("proc/1/cgroup", "0::/init.scope\n")]);
            symlink(to, folder.path().join("proc/1/root")).unwrap();
            has_its_files(&root)
        };
        assert!(root_of_first("../..") && !root_of_first("/proc"));
        let mounted = |own: &str, its: &str| {
            let table =
                |top: &str| format!("29 1 {top} / rw - ext4 x rw\n30 29 0:5 / /dev rw - t t rw\n");
            let (own, its) = (table(own), table(its));
            let files = [("proc/self/mountinfo", own.as_str()), ("proc/1/mountinfo", its.as_str())];
            has_its_files(&host(&files).1)
        };
        assert!(mounted("8:1 /", "8:1 /"));
        assert!(!mounted("0:57 /", "8:1 /") && !mounted("8:1 /srv/box", "8:1 /"));
        assert!(!has_its_files(&Root::at("/none".as_ref())));
    }
}
