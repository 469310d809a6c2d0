//! `device`: uses devices as it is told, `open r|w|rw PATH` or `mknod c|b MAJOR MINOR`, and says
//! `done` or `refused ERRNO`. Nodes are made in a tmpfs that nobody else sees.

use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::Path;

use assay_kernel::namespace;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::{Words, errno, say};

/// Where the tmpfs is put: a directory that every system has and that this probe does not need.
const PLACE: &str = "/tmp";

pub(super) fn run(_: &Words, out: &mut dyn Write) -> Result<(), String> {
    say(out, "ready")?;
    let mut nodes = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| cause.to_string())?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let refused = match words.as_slice() {
            ["open", ways, path] => open(ways, path),
            ["mknod", kind, major, minor] => {
                if nodes == 0
                    && let Err(error) = namespace::own_mounts(Path::new(PLACE))
                {
                    say(out, &format!("refused {}", errno(&error)))?;
                    continue;
                }
                nodes += 1;
                make_node(nodes, kind, number(major)?, number(minor)?)
            }
            _ => return Err(format!("`{line}` is no order")),
        };
        match refused {
            None => say(out, "done")?,
            Some(number) => say(out, &format!("refused {number}"))?,
        }
    }
    Ok(())
}

fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}

fn open(ways: &str, path: &str) -> Option<i32> {
    let opened = OpenOptions::new().read(ways.contains('r')).write(ways.contains('w')).open(path);
    opened.err().map(|cause| cause.raw_os_error().unwrap_or(0))
}

fn make_node(count: u32, kind: &str, major: u32, minor: u32) -> Option<i32> {
    let kind = if kind == "b" { FileType::BlockDevice } else { FileType::CharacterDevice };
    let path = format!("{PLACE}/node{count}");
    let made = mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, makedev(major, minor));
    made.err().map(rustix::io::Errno::raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_refused_with_its_number() {
        assert_eq!(open("r", "/dev/null"), None);
        assert_eq!(open("r", "/nonexistent"), Some(rustix::io::Errno::NOENT.raw_os_error()));
    }
}
