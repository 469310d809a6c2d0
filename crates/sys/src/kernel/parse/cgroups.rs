//! /proc/cgroups and /proc/PID/cgroup (cgroups(7)).

/// One line of /proc/cgroups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subsystem {
    /// The controller's v1 name, `blkio`.
    pub name: String,
    /// The id of its hierarchy; 0 for cgroup2 or none.
    pub hierarchy: u32,
    /// Number of groups in that hierarchy, including its root and those being removed.
    pub groups: u64,
    /// Whether it is enabled (not disabled by `cgroup_disable=` at boot).
    pub enabled: bool,
}

/// Parses /proc/cgroups.
#[must_use]
pub fn subsystems(text: &str) -> Vec<Subsystem> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(subsystem).collect()
}

fn subsystem(line: &str) -> Option<Subsystem> {
    let mut fields = line.split_whitespace();
    let name = fields.next()?.to_owned();
    let hierarchy = fields.next()?.parse().ok()?;
    let groups = fields.next()?.parse().ok()?;
    let enabled = fields.next()? == "1";
    Some(Subsystem { name, hierarchy, groups, enabled })
}

/// A process's group in one hierarchy: a line of /proc/PID/cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessGroup {
    /// Controllers of the hierarchy; empty for cgroup2.
    pub controllers: Vec<String>,
    /// The group as a path from the hierarchy's root.
    pub group: String,
}

/// Parses /proc/PID/cgroup.
#[must_use]
pub fn process_groups(text: &str) -> Vec<ProcessGroup> {
    text.lines().filter_map(process_group).collect()
}

fn process_group(line: &str) -> Option<ProcessGroup> {
    let mut fields = line.splitn(3, ':');
    let controllers = fields.nth(1)?;
    let group = fields.next()?;
    let controllers =
        controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some(ProcessGroup { controllers, group: group.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_parsed_with_their_hierarchies() {
        let text =
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\nblkio\t7\t1\t1\nmemory\t0\t1\t0\n";
        let controllers = subsystems(text);
        let blkio = Subsystem { name: "blkio".into(), hierarchy: 7, groups: 1, enabled: true };
        assert_eq!(controllers[0], blkio);
        let memory = Subsystem { name: "memory".into(), hierarchy: 0, groups: 1, enabled: false };
        assert_eq!(controllers[1], memory);
    }

    #[test]
    fn a_group_path_may_contain_colons() {
        let parsed = process_groups("4:cpu,cpuacct:/a:b\n0::/user.slice\n");
        assert_eq!(parsed[0].controllers, ["cpu", "cpuacct"]);
        assert_eq!(parsed[0].group, "/a:b");
        assert!(parsed[1].controllers.is_empty());
    }
}
