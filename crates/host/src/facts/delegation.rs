//! What this process may do: everything, or make groups in a part of a hierarchy that was
//! delegated to its user (Documentation/admin-guide/cgroup-v2.rst, "Delegation"; on cgroup v1 a
//! group whose directory and files belong to the user).

use std::path::{Path, PathBuf};

use assay_facts::{Available, CORE, CgroupLayout, Hierarchy};
use assay_kernel::parse::keyed;
use assay_kernel::{Root, filesystem};

use super::{cgroup, system};

/// How deep below a v1 mount a delegated group is looked for, and in how many groups.
const DEPTH: usize = 3;
const GROUPS: usize = 512;

/// Bit of CAP_SYS_ADMIN in `CapEff` of /proc/PID/status (capabilities(7)).
const SYS_ADMIN: u32 = 21;

/// Whether this process may do what only root may, else why not.
pub(super) fn root(root: &Root) -> Available<()> {
    let user = system::effective_user(root);
    if user != 0 {
        return Available::NotAvailable(format!("this is user {user}"));
    }
    // One line that maps all ids to themselves stands for the first user namespace.
    let map = root.read("/proc/self/uid_map").unwrap_or_default();
    let map: Vec<&str> = map.split_whitespace().collect();
    if !map.is_empty() && map != ["0", "0", "4294967295"] {
        let why = "root of a user namespace is not root of the machine (a container?)";
        return Available::NotAvailable(why.to_owned());
    }
    let status = root.read("/proc/self/status").unwrap_or_default();
    let rights =
        keyed::colon(&status, "CapEff").and_then(|text| u64::from_str_radix(text, 16).ok());
    match rights {
        Some(rights) if rights >> SYS_ADMIN & 1 == 0 => {
            Available::NotAvailable("root without CAP_SYS_ADMIN (a container?)".to_owned())
        }
        _ => Available::Value(()),
    }
}

/// Finds for every controller where groups may be made.
pub(super) fn with_bases(root: &Root, mut layout: CgroupLayout) -> CgroupLayout {
    for (name, controller) in &layout.controllers {
        let (mount, is_v2) = match &controller.hierarchy {
            Hierarchy::V1(mount) => (mount, false),
            Hierarchy::V2(mount) => (mount, true),
            Hierarchy::Absent(_) => continue,
        };
        let place = Place { root, mount, own: &controller.own_group };
        if place.is_open() {
            continue;
        }
        let base = if is_v2 { place.on_v2(name) } else { place.on_v1(name) };
        layout.bases.insert(name.clone(), base);
    }
    if let Some(mount) = &layout.v2_mount {
        let place = Place { root, mount, own: &cgroup::v2_group(root) };
        if !place.is_open() {
            layout.bases.insert(CORE.to_owned(), place.on_v2(CORE));
        }
    }
    layout
}

/// A hierarchy as this process sees it.
struct Place<'p> {
    root: &'p Root,
    mount: &'p Path,
    /// This process's group, as a path below the mount.
    own: &'p str,
}

impl Place<'_> {
    /// Whether groups can be made anywhere, as by root. A tree that stands in for a host may lack
    /// the directories.
    fn is_open(&self) -> bool {
        !self.root.exists(self.mount) || self.takes_groups(self.mount) && !self.has_rule(self.mount)
    }

    /// Whether groups can be made in `group` and processes be moved from there.
    fn takes_groups(&self, group: &Path) -> bool {
        let writable = |path: PathBuf| !self.root.exists(&path) || self.may_write(&path);
        self.may_write(group)
            && writable(group.join("cgroup.procs"))
            && writable(group.join("cgroup.subtree_control"))
    }

    fn may_write(&self, path: &Path) -> bool {
        filesystem::may_write(&self.root.resolve(path))
    }

    /// Whether the rule of no internal processes holds: `cgroup.type` is in every group of v2 but
    /// the root of the hierarchy, which a container may not see.
    fn has_rule(&self, group: &Path) -> bool {
        self.root.exists(group.join("cgroup.type"))
    }

    /// This process's group and those above it, the nearest first.
    fn own_and_above(&self) -> Vec<PathBuf> {
        let own = self.mount.join(self.own.trim_start_matches('/'));
        let inside = |group: &&Path| group.starts_with(self.mount);
        own.ancestors().take_while(inside).map(Path::to_owned).collect()
    }

    /// On v2 a process can be moved only below a group whose `cgroup.procs` this user may write
    /// and that is above both places, so only this process's own group and those above count.
    fn on_v2(&self, controller: &str) -> Available<PathBuf> {
        let open: Vec<PathBuf> =
            self.own_and_above().into_iter().filter(|group| self.takes_groups(group)).collect();
        let Some(base) = open.iter().find(|group| self.others_in(group) == 0) else {
            return Available::NotAvailable(match open.first() {
                None => self.why_none("systemd-run --user --scope -p Delegate=yes assay ..."),
                Some(group) => format!(
                    "{} is delegated to this user, but {} other processes sit in it, and cgroup v2 \
                     gives controllers only to a group without processes: start Assay alone in a \
                     group, `systemd-run --user --scope -p Delegate=yes assay ...`",
                    group.display(),
                    self.others_in(group)
                ),
            });
        };
        let offered = self.root.read(base.join("cgroup.controllers")).unwrap_or_default();
        let is_everywhere = ["perf_event", CORE].contains(&controller);
        if is_everywhere || offered.split_whitespace().any(|name| name == controller) {
            return Available::Value(base.clone());
        }
        Available::NotAvailable(format!(
            "needs root, because {} was delegated without the controller `{controller}`: root \
             enables it in the group above, or `Delegate={controller}` of the unit does",
            base.display()
        ))
    }

    /// Processes in a group besides this one, where the rule of no internal processes holds.
    fn others_in(&self, group: &Path) -> usize {
        if !self.has_rule(group) {
            return 0;
        }
        let own = std::process::id().to_string();
        let text = self.root.read(group.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter(|pid| *pid != own).count()
    }

    /// On v1 any group will do that this user may write.
    fn on_v1(&self, controller: &str) -> Available<PathBuf> {
        let near = self.own_and_above().into_iter();
        let Some(base) = near.chain(self.below()).find(|group| self.takes_groups(group)) else {
            return Available::NotAvailable(self.why_none("chown -R USER GROUP, as root"));
        };
        let empty =
            |file: &str| self.root.read_trimmed(base.join(file)).is_ok_and(|t| t.is_empty());
        if controller == "cpuset" && (empty("cpuset.cpus") || empty("cpuset.mems")) {
            return Available::NotAvailable(format!(
                "{} was delegated with an empty cpuset.cpus or cpuset.mems: root writes them, as in \
                 the group above",
                base.display()
            ));
        }
        Available::Value(base)
    }

    /// Groups below the mount, the upper ones first.
    fn below(&self) -> Vec<PathBuf> {
        let mut found = vec![self.mount.to_owned()];
        let mut begin = 0;
        for _ in 0..DEPTH {
            let level = found.split_at(begin).1.to_owned();
            begin = found.len();
            for group in level {
                let names = self.root.list(&group).unwrap_or_default().into_iter();
                let inside = names.map(|name| group.join(name));
                found.extend(inside.filter(|path| self.root.resolve(path).is_dir()));
                if found.len() > GROUPS {
                    return found;
                }
            }
        }
        found
    }

    fn why_none(&self, remedy: &str) -> String {
        format!(
            "needs root, because no group of {} was delegated to this user ({remedy})",
            self.mount.display()
        )
    }
}
