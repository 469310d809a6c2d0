//! /proc/cgroups and /proc/PID/cgroup (cgroups(7)).

/// One line of /proc/cgroups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subsystem {
    /// The controller's v1 name, `blkio`.
    pub name: String,
    /// The hierarchy it is on; 0 stands for cgroup2 or for none.
    pub hierarchy: u32,
    /// Groups of that hierarchy, its root among them, with those that are about to go.
    pub groups: u64,
    /// Whether it was left enabled at boot (`cgroup_disable=`).
    pub enabled: bool,
}

/// Reads /proc/cgroups.
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

/// A process's place in one hierarchy: a line of /proc/PID/cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Controllers of the hierarchy; none for cgroup2.
    pub controllers: Vec<String>,
    /// The group as a path from the hierarchy's root.
    pub group: String,
}

/// Reads /proc/PID/cgroup.
#[must_use]
pub fn places(text: &str) -> Vec<Place> {
    text.lines().filter_map(place).collect()
}

fn place(line: &str) -> Option<Place> {
    let mut fields = line.splitn(3, ':');
    let controllers = fields.nth(1)?;
    let group = fields.next()?;
    let controllers =
        controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some(Place { controllers, group: group.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_which_controllers_there_are_and_where() {
        let text =
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\nblkio\t7\t1\t1\nmemory\t0\t1\t0\n";
        let found = subsystems(text);
        let blkio = Subsystem { name: "blkio".into(), hierarchy: 7, groups: 1, enabled: true };
        assert_eq!(found[0], blkio);
        let memory = Subsystem { name: "memory".into(), hierarchy: 0, groups: 1, enabled: false };
        assert_eq!(found[1], memory);
    }

    #[test]
    fn a_group_s_path_may_hold_colons() {
        let found = places("4:cpu,cpuacct:/a:b\n0::/user.slice\n");
        assert_eq!(found[0].controllers, ["cpu", "cpuacct"]);
        assert_eq!(found[0].group, "/a:b");
        assert!(found[1].controllers.is_empty());
    }
}
