//! Test double: devices and mounts of a fake host tree, with the kernel's rules on what is busy. It
//! applies to files what the real system calls apply to the kernel.

use std::fs;
use std::path::{Path, PathBuf};

use assay_sys::kernel::{Error, Root};
use rustix::io::Errno;

use super::change::Change;
use super::crash_point::crash_point;

fn block(number: u32) -> PathBuf {
    PathBuf::from(format!("/sys/block/loop{number}"))
}

fn partition(device: &Path, number: u32) -> PathBuf {
    let name = device.file_name().unwrap().to_str().unwrap();
    Path::new("/sys/block").join(name).join(format!("{name}p{number}"))
}

fn busy(path: &Path) -> Error {
    Error::new("change", path, &std::io::Error::from(Errno::BUSY))
}

/// Mounts are files below /proc/mounted, named by their targets, that contain their devices.
fn mount_file(target: &Path) -> PathBuf {
    Path::new("/proc/mounted").join(target.to_str().unwrap().replace('/', "+"))
}

fn is_mounted(root: &Root, device: &Path) -> bool {
    let names = root.list("/proc/mounted").unwrap();
    names.iter().any(|name| {
        let source = root.read(Path::new("/proc/mounted").join(name)).unwrap();
        source.starts_with(device.to_str().unwrap())
    })
}

pub(super) fn add_loop(root: &Root, number: u32) -> Result<(), Error> {
    root.make_dir(block(number))?;
    fs::write(root.resolve(block(number).join("dev")), format!("7:{number}")).unwrap();
    root.make_dir(block(number).join("loop"))
}

pub(super) fn attach(root: &Root, number: u32, image: &Path) -> Result<(), Error> {
    let file = root.resolve(block(number).join("loop/backing_file"));
    fs::write(file, image.to_str().unwrap()).unwrap();
    Ok(())
}

pub(super) fn add_partition(root: &Root, device: &Path, number: u32) -> Result<(), Error> {
    root.make_dir(partition(device, number))
}

pub(super) fn mount(root: &Root, device: &Path, target: &Path) -> Result<(), Error> {
    let device = device.to_str().unwrap();
    fs::write(root.resolve(mount_file(target)), device).unwrap();
    Ok(())
}

/// A disk is a file of zeros; a signature is anything else.
pub(super) fn format(root: &Root, device: &Path) {
    fs::write(root.resolve(device), b"\0\0SIG\0\0\0").unwrap();
}

pub(super) fn restore(root: &Root, change: &Change) -> Result<(), Error> {
    crash_point()?;
    match change {
        Change::AddLoop { number, .. } => remove_loop(root, *number),
        Change::AttachLoop { image, .. } => detach(root, image),
        Change::AddPartition { device, number, .. } => remove_partition(root, device, *number),
        Change::StackDisk { name, .. } => unstack(root, name),
        Change::Mount { target, .. } => remove_if_there(&root.resolve(mount_file(target))),
        Change::WriteSignatures { device, .. } => {
            // One area after the other, as the real function does.
            for zeros in [&b"\0\0\0IG\0\0\0"[..], b"\0\0\0\0\0\0\0\0"] {
                fs::write(root.resolve(device), zeros).unwrap();
                crash_point()?;
            }
            Ok(())
        }
        other => unreachable!("{other:?} is not a system call"),
    }
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    if path.exists() {
        fs::remove_file(path).unwrap();
    }
    crash_point()
}

fn remove_loop(root: &Root, number: u32) -> Result<(), Error> {
    let directory = block(number);
    if root.exists(directory.join("loop/backing_file")) {
        return Err(busy(&directory));
    }
    if root.exists(&directory) {
        fs::remove_dir_all(root.resolve(&directory)).unwrap();
    }
    crash_point()
}

pub(super) fn stack(root: &Root, name: &str) -> Result<(), Error> {
    root.make_dir(Path::new("/sys/block").join(name))
}

fn unstack(root: &Root, name: &str) -> Result<(), Error> {
    let directory = Path::new("/sys/block").join(name);
    if root.exists(&directory) {
        fs::remove_dir(root.resolve(&directory)).unwrap();
    }
    crash_point()
}

fn detach(root: &Root, image: &Path) -> Result<(), Error> {
    for name in root.list("/sys/block").unwrap() {
        let file = Path::new("/sys/block").join(&name).join("loop/backing_file");
        if root.read(&file).is_ok_and(|text| Path::new(&text) == image) {
            if is_mounted(root, &Path::new("/dev").join(&name)) {
                return Err(busy(&file));
            }
            remove_if_there(&root.resolve(&file))?;
        }
    }
    Ok(())
}

fn remove_partition(root: &Root, device: &Path, number: u32) -> Result<(), Error> {
    let directory = partition(device, number);
    if is_mounted(root, &device.with_file_name(directory.file_name().unwrap())) {
        return Err(busy(&directory));
    }
    if root.exists(&directory) {
        fs::remove_dir(root.resolve(&directory)).unwrap();
    }
    crash_point()
}
