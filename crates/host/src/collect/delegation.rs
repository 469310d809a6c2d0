//! Privileges of this process: root's, or creating groups in a part of a hierarchy delegated to its
//! user (Documentation/admin-guide/cgroup-v2.rst, "Delegation"; on cgroup v1 a group whose directory
//! and files belong to the user).

use std::path::{Path, PathBuf};

use crate::facts::{Available, CORE, CgroupLayout, Hierarchy};
use assay_sys::kernel::parse::keyed;
use assay_sys::kernel::{Root, filesystem};

use super::{cgroup, system};

/// Depth below a v1 mount, and number of groups, searched for a delegated group.
const DEPTH: usize = 3;
const GROUPS: usize = 512;

/// Bit of CAP_SYS_ADMIN in `CapEff` of /proc/PID/status (capabilities(7)).
const SYS_ADMIN: u32 = 21;

/// Whether this process has root's privileges, or why not.
pub(super) fn root(root: &Root) -> Available<()> {
    let user = system::effective_user(root);
    if user != 0 {
        return Available::NotAvailable(format!("this is user {user}"));
    }
    // A single line that maps all ids to themselves identifies the initial user namespace.
    let map = root.read("/proc/self/uid_map").unwrap_or_default();
    let map: Vec<&str> = map.split_whitespace().collect();
    if !map.is_empty() && map != ["0", "0", "4294967295"] {
        let why = "root of a user namespace is not root of the machine (a container?)";
        return Available::NotAvailable(why.to_owned());
    }
    let status = root.read("/proc/self/status").unwrap_or_default();
    let capabilities =
        keyed::colon(&status, "CapEff").and_then(|text| u64::from_str_radix(text, 16).ok());
    match capabilities {
        Some(bits) if bits >> SYS_ADMIN & 1 == 0 => {
            Available::NotAvailable("root without CAP_SYS_ADMIN (a container?)".to_owned())
        }
        _ => Available::Value(()),
    }
}

/// Finds, for every controller, the group below which groups can be created.
pub(super) fn with_bases(root: &Root, mut layout: CgroupLayout) -> CgroupLayout {
    for (name, controller) in &layout.controllers {
        let (mount, is_v2) = match &controller.hierarchy {
            Hierarchy::V1(mount) => (mount, false),
            Hierarchy::V2(mount) => (mount, true),
            Hierarchy::Absent(_) => continue,
        };
        let hierarchy = OwnHierarchy { root, mount, own: &controller.own_group };
        if hierarchy.is_open() {
            continue;
        }
        let base = if is_v2 { hierarchy.on_v2(name) } else { hierarchy.on_v1(name) };
        layout.bases.insert(name.clone(), base);
    }
    if let Some(mount) = &layout.v2_mount {
        let hierarchy = OwnHierarchy { root, mount, own: &cgroup::v2_group(root) };
        if !hierarchy.is_open() {
            layout.bases.insert(CORE.to_owned(), hierarchy.on_v2(CORE));
        }
    }
    layout
}

/// A hierarchy as seen by this process.
struct OwnHierarchy<'p> {
    root: &'p Root,
    mount: &'p Path,
    /// This process's group, as a path below the mount.
    own: &'p str,
}

impl OwnHierarchy<'_> {
    /// Whether groups can be created anywhere, as by root. A fake host tree may lack the directories.
    fn is_open(&self) -> bool {
        !self.root.exists(self.mount) || self.takes_groups(self.mount) && !self.has_rule(self.mount)
    }

    /// Whether groups can be created in `group` and processes moved out of it.
    fn takes_groups(&self, group: &Path) -> bool {
        let writable = |path: PathBuf| !self.root.exists(&path) || self.may_write(&path);
        self.may_write(group)
            && writable(group.join("cgroup.procs"))
            && writable(group.join("cgroup.subtree_control"))
    }

    fn may_write(&self, path: &Path) -> bool {
        filesystem::may_write(&self.root.resolve(path))
    }

    /// Whether the rule of no internal processes applies: every v2 group has `cgroup.type`, except the
    /// root of the hierarchy, which a container may not see.
    fn has_rule(&self, group: &Path) -> bool {
        self.root.exists(group.join("cgroup.type"))
    }

    /// This process's group and its ancestors, nearest first.
    fn own_and_above(&self) -> Vec<PathBuf> {
        let own = self.mount.join(self.own.trim_start_matches('/'));
        let inside = |group: &&Path| group.starts_with(self.mount);
        own.ancestors().take_while(inside).map(Path::to_owned).collect()
    }

    /// On v2, moving a process requires write access to `cgroup.procs` of a common ancestor of both
    /// groups, so only this process's own group and its ancestors qualify.
    fn on_v2(&self, controller: &str) -> Available<PathBuf> {
        let open: Vec<PathBuf> =
            self.own_and_above().into_iter().filter(|group| self.takes_groups(group)).collect();
        let Some(base) = open.iter().find(|group| self.others_in(group) == 0) else {
            return Available::NotAvailable(match open.first() {
                None => self
                    .refusal_without_group("systemd-run --user --scope -p Delegate=yes assay ..."),
                Some(group) => format!(
                    "{} is delegated to this user, but it contains {} other processes, and cgroup v2 \
                     enables controllers only below a group without processes: start Assay alone in a \
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

    /// Processes in a group other than this one, where the rule of no internal processes applies.
    fn others_in(&self, group: &Path) -> usize {
        if !self.has_rule(group) {
            return 0;
        }
        let own = std::process::id().to_string();
        let text = self.root.read(group.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter(|pid| *pid != own).count()
    }

    /// On v1 any group that this user may write to qualifies.
    fn on_v1(&self, controller: &str) -> Available<PathBuf> {
        let near = self.own_and_above().into_iter();
        let Some(base) = near.chain(self.below()).find(|group| self.takes_groups(group)) else {
            return Available::NotAvailable(
                self.refusal_without_group("chown -R USER GROUP, as root"),
            );
        };
        let empty =
            |file: &str| self.root.read_trimmed(base.join(file)).is_ok_and(|t| t.is_empty());
        if controller == "cpuset" && (empty("cpuset.cpus") || empty("cpuset.mems")) {
            return Available::NotAvailable(format!(
                "{} was delegated with an empty cpuset.cpus or cpuset.mems: root must write them, as in \
                 the group above",
                base.display()
            ));
        }
        Available::Value(base)
    }

    /// Groups below the mount, upper ones first.
    fn below(&self) -> Vec<PathBuf> {
        let mut groups = vec![self.mount.to_owned()];
        let mut begin = 0;
        for _ in 0..DEPTH {
            let level = groups.split_at(begin).1.to_owned();
            begin = groups.len();
            for group in level {
                let names = self.root.list(&group).unwrap_or_default().into_iter();
                let inside = names.map(|name| group.join(name));
                groups.extend(inside.filter(|path| self.root.resolve(path).is_dir()));
                if groups.len() > GROUPS {
                    return groups;
                }
            }
        }
        groups
    }

    fn refusal_without_group(&self, remedy: &str) -> String {
        format!(
            "needs root, because no group of {} was delegated to this user ({remedy})",
            self.mount.display()
        )
    }
}
