//! `device`: uses devices on command, `open r|w|rw PATH` or `mknod c|b MAJOR MINOR`, and prints
//! `done` or `refused ERRNO`. Nodes are created in a private tmpfs.

use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::Path;

use assay_kernel::namespace;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::{Arguments, errno, print};

/// Mount point of the tmpfs: a directory that every system has and this probe does not need.
const MOUNT_POINT: &str = "/tmp";

pub(super) fn run(_: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    print(out, "ready")?;
    let mut nodes = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| cause.to_string())?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let refused = match words.as_slice() {
            ["open", mode, path] => open(mode, path),
            ["mknod", kind, major, minor] => {
                if nodes == 0
                    && let Err(error) = namespace::own_mounts(Path::new(MOUNT_POINT))
                {
                    print(out, &format!("refused {}", errno(&error)))?;
                    continue;
                }
                nodes += 1;
                make_node(nodes, kind, number(major)?, number(minor)?)
            }
            _ => return Err(format!("unknown probe command `{line}`")),
        };
        match refused {
            None => print(out, "done")?,
            Some(number) => print(out, &format!("refused {number}"))?,
        }
    }
    Ok(())
}

fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}

fn open(mode: &str, path: &str) -> Option<i32> {
    let opened = OpenOptions::new().read(mode.contains('r')).write(mode.contains('w')).open(path);
    opened.err().map(|cause| cause.raw_os_error().unwrap_or(0))
}

fn make_node(count: u32, kind: &str, major: u32, minor: u32) -> Option<i32> {
    let kind = if kind == "b" { FileType::BlockDevice } else { FileType::CharacterDevice };
    let path = format!("{MOUNT_POINT}/node{count}");
    let made = mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, makedev(major, minor));
    made.err().map(rustix::io::Errno::raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_is_refused_with_its_errno() {
        assert_eq!(open("r", "/dev/null"), None);
        assert_eq!(open("r", "/nonexistent"), Some(rustix::io::Errno::NOENT.raw_os_error()));
    }
}
