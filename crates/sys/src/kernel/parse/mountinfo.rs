//! /proc/self/mountinfo (proc_pid_mountinfo(5)).

use std::path::PathBuf;

/// One mount in this process's mount namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Device number of the file system, `major:minor`.
    pub device: String,
    /// The mounted part of the file system; not `/` for bind mounts and in containers.
    pub root: String,
    /// The mount point.
    pub target: PathBuf,
    /// Type of the file system, `ext4`, `cgroup2`.
    pub kind: String,
    /// The mounted device, `/dev/sda1`.
    pub source: String,
    /// Options of the file system; for cgroup v1 these name the controllers.
    pub options: Vec<String>,
}

impl Mount {
    /// Whether this is a cgroup v1 hierarchy with this controller.
    #[must_use]
    pub fn is_v1_of(&self, controller: &str) -> bool {
        self.kind == "cgroup" && self.options.iter().any(|option| option == controller)
    }
}

/// Parses the table; malformed lines are skipped.
#[must_use]
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    // A variable number of optional fields ends with a single hyphen.
    let (mount, system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ');
    let device = mount.nth(2)?;
    let root = mount.next()?;
    let target = mount.next()?;
    let mut system = system.split(' ');
    let kind = system.next()?;
    let source = system.next()?;
    let options = system.next().unwrap_or_default();
    Some(Mount {
        device: device.to_owned(),
        root: unescape(root),
        target: PathBuf::from(unescape(target)),
        kind: kind.to_owned(),
        source: unescape(source),
        options: options.split(',').map(str::to_owned).collect(),
    })
}

/// The kernel writes blank, tab, newline and backslash as three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = (first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &tail[3..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_parsed_with_and_without_optional_fields() {
        let text = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
                    38 31 0:35 / /sys/fs/cgroup/blkio rw shared:9 master:2 - cgroup cgroup rw,blkio\n\
                    nonsense\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].device, "254:0");
        assert_eq!(mounts[1].target, PathBuf::from("/sys/fs/cgroup/blkio"));
        assert_eq!(mounts[1].kind, "cgroup");
        assert_eq!(mounts[1].options, ["rw", "blkio"]);
    }

    #[test]
    fn an_escaped_blank_in_a_path_is_unescaped() {
        let text = "27 1 8:1 / /mnt/my\\040disk\\134x rw - ext4 /dev/sda1 rw\n";
        assert_eq!(parse(text)[0].target, PathBuf::from("/mnt/my disk\\x"));
    }
}
