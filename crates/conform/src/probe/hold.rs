//! `hold in=DIRECTORY size=BYTES`: makes a file without a name, and holds it until the end of its input. After `ready` it prints
//! `held DEVICE PATH`, the number of its file system and where others find it, or why there is none.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use assay_sys::files::Dir;
use assay_sys::kernel::Root;
use rustix::fs::{major, minor};

use super::{Arguments, answer, print, shown};

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let folder = arguments.text("in").ok_or("in=DIRECTORY is missing")?;
    let size = arguments.number("size", 1 << 20)?;
    print(out, "ready")?;
    let directory = Dir::open(Path::new(folder)).map_err(shown);
    let file = match directory.and_then(|directory| directory.unnamed(size).map_err(shown)) {
        Ok(file) => file,
        Err(why) => return print(out, &why.replace('\n', ";")),
    };
    let (device, inode) = file.metadata().map(|file| (file.dev(), file.ino())).map_err(shown)?;
    // By the id that this process has where /proc is from, and only if that leads here.
    let root = Root::real();
    let own = root.link("/proc/self").unwrap_or_default();
    let path = format!("/proc/{own}/fd/{}", file.as_raw_fd());
    match root.file_id(&path).is_ok_and(|id| id == (device, inode)) {
        true => print(out, &format!("held {}:{} {path}", major(device), minor(device)))?,
        false => print(out, &format!("{path} is not this process's file"))?,
    }
    answer(out, |_, _| Ok(None))
}
