//! Devices: those that the group may not use are refused to a copy with the same rules, and not to its twin.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use assay_conform::{Running, errno_numbered};
use assay_sys::kernel::device_program::{DeviceRule, attach_too, attached};
use assay_sys::kernel::{Error, Root};
use rustix::fs::{major, minor};
use rustix::io::Errno;

use super::Proof;
use crate::probe::Verdict;
use crate::probe::beside::{Beside, COPY, TWIN};

/// Nothing happens to any of them when it is opened for reading.
const TRIED: [&str; 14] = [
    "/dev/kmsg",
    "/dev/mem",
    "/dev/fuse",
    "/dev/loop-control",
    "/dev/net/tun",
    "/dev/kvm",
    "/dev/loop0",
    "/dev/sda",
    "/dev/vda",
    "/dev/nvme0n1",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/urandom",
];

/// A device that is tried.
#[derive(Debug, Clone, Copy)]
struct Tried {
    path: &'static str,
    /// Whether the rules of the group allow to read it; on v2 a program decides, which nobody can read.
    is_allowed: Option<bool>,
    copy: Option<Errno>,
    twin: Option<Errno>,
}

pub(super) fn rules(beside: &Beside<'_>, group: &Path) -> Result<Proof, Error> {
    let rules: Option<Vec<DeviceRule>> = match beside.is_v2() {
        true => {
            if !beside.is_inside() {
                let programs = attached(beside.root, group)?;
                attach_too(beside.root, &beside.groups[COPY], &programs)?;
            }
            None
        }
        false => {
            let text = beside.root.read(group.join("devices.list"))?;
            if !beside.is_inside() {
                beside.write(COPY, "devices.deny", "a")?;
                text.lines().try_for_each(|line| beside.write(COPY, "devices.allow", line))?;
            }
            Some(text.lines().filter_map(|line| line.parse::<DeviceRule>().ok()).collect())
        }
    };
    let mut probes = [beside.start(COPY, "device")?, beside.start(TWIN, "device")?];
    let mut tried = Vec::new();
    for path in TRIED {
        let Some(is_allowed) = is_allowed(beside.root, path, rules.as_deref()) else { continue };
        let [copy, twin] = probes.each_mut().map(|probe| opened(probe, path));
        tried.push(Tried { path, is_allowed, copy: copy?, twin: twin? });
    }
    let mut proof = judge(&tried, &beside.names("its rules"));
    // Below a group with rules a copy and its twin may both lack what the group lacks.
    if proof.verdict == Verdict::NotProvable && !beside.is_inside() {
        proof.reason += "; --inside --yes tries the group itself";
    }
    Ok(proof)
}

/// Why the device was not opened. A probe that has ended says nothing of it.
fn opened(probe: &mut Running, path: &str) -> Result<Option<Errno>, Error> {
    let line = probe.ask(&format!("open r {path}"))?.ok_or_else(|| probe.ended())?;
    let number = || line.strip_prefix("refused ")?.parse().ok();
    match number().map(errno_numbered) {
        None if line != "done" => Err(Error::unexpected("open", Path::new(path), line)),
        errno => Ok(errno),
    }
}

/// `None` if there is no such device. One that the kernel does not know yet may load a module when it is opened.
fn is_allowed(root: &Root, path: &str, rules: Option<&[DeviceRule]>) -> Option<Option<bool>> {
    let device = std::fs::metadata(path).ok()?;
    let number = (major(device.rdev()), minor(device.rdev()));
    let is_block = device.file_type().is_block_device();
    let kind = if is_block { "block" } else { "char" };
    let known = format!("/sys/dev/{kind}/{}:{}", number.0, number.1);
    if !(is_block || device.file_type().is_char_device()) || !root.exists(known) {
        return None;
    }
    let is_about = |rule: &DeviceRule| rule.is_about_reading(is_block, number);
    Some(rules.map(|rules| rules.iter().any(is_about)))
}

fn judge(tried: &[Tried], [copy, twin]: &[String; 2]) -> Proof {
    // What the twin may not open either is refused further up, or by something else.
    let free: Vec<&Tried> = tried.iter().filter(|one| one.twin.is_none()).collect();
    let names = |of: &dyn Fn(&&&Tried) -> bool| -> Vec<&str> {
        free.iter().filter(of).map(|one| one.path).collect()
    };
    let opened = names(&|one| one.is_allowed == Some(false) && one.copy.is_none());
    let refused = names(&|one| one.copy == Some(Errno::PERM));
    let denied = names(&|one| one.is_allowed == Some(true) && one.copy.is_some());
    if !opened.is_empty() {
        return Proof::not_enforced(format!("{copy}: opened {}", opened.join(", ")));
    }
    if !denied.is_empty() {
        return Proof::not_provable(format!(
            "{copy}: {} refused in spite of its rules",
            denied.join(", ")
        ));
    }
    if refused.is_empty() {
        return Proof::not_provable(format!(
            "{copy}: none of {} devices refused; {twin}: opened",
            free.len()
        ));
    }
    Proof::enforced(format!("{copy}: {} refused", refused.join(", ")))
        .with(format!("{twin}: opened"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use assay_sys::kernel::process::Membership;

    use super::*;

    #[test]
    fn a_refusal_counts_if_the_twin_has_none() {
        let verdict = |is_allowed, copy, twin| {
            let null = Tried { path: "/dev/null", is_allowed: Some(true), copy: None, twin: None };
            let tried = [null, Tried { path: "/dev/kmsg", is_allowed, copy, twin }];
            judge(&tried, &["copy", "twin"].map(str::to_owned)).verdict
        };
        let (no, perm) = (Some(false), Some(Errno::PERM));
        assert_eq!(verdict(no, perm, None), Verdict::Enforced);
        assert_eq!(verdict(None, perm, None), Verdict::Enforced, "a program");
        assert_eq!(verdict(no, None, None), Verdict::NotEnforced);
        assert_eq!(verdict(no, perm, perm), Verdict::NotProvable, "refused further up, too");
        assert_eq!(verdict(None, None, None), Verdict::NotProvable);
        assert_eq!(verdict(Some(true), perm, None), Verdict::NotProvable);
        assert_eq!(verdict(no, Some(Errno::NXIO), None), Verdict::NotProvable, "not there");
    }

    #[test]
    fn a_probe_that_has_ended_opened_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ends");
        let opened = |says: &str| {
            std::fs::write(&program, format!("#!/bin/sh\necho ready; read line; {says}\n"))
                .unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            let membership = Membership::open(&Root::real(), &[]).unwrap();
            let mut probe = Running::start(&program, &["device".to_owned()], &membership).unwrap();
            opened(&mut probe, "/dev/null").map_err(|error| error.to_string())
        };
        assert_eq!(opened("echo done"), Ok(None));
        assert_eq!(opened("echo refused 1"), Ok(Some(Errno::PERM)));
        assert!(opened("exit").unwrap_err().contains("the process has ended"));
        assert!(opened("echo what").unwrap_err().contains("what"));
    }

    #[test]
    fn a_device_that_the_kernel_does_not_know_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let rules: [DeviceRule; 1] = ["c 1:3 rwm".parse().unwrap()];
        let allowed = |path| is_allowed(&root, path, Some(&rules));
        assert_eq!(allowed("/dev/null"), None, "opening it may load a module");
        for number in ["1:3", "1:5"] {
            std::fs::create_dir_all(folder.path().join("sys/dev/char").join(number)).unwrap();
        }
        assert_eq!(["/dev/null", "/dev/zero"].map(allowed), [Some(Some(true)), Some(Some(false))]);
        assert_eq!(is_allowed(&root, "/dev/null", None), Some(None), "a program decides");
        assert_eq!(allowed("/dev"), None);
    }
}
