//! Dropping privileges of started programs: another user, and no inherited descriptors.

use std::io;

use crate::kernel::error::Error;
use crate::kernel::root::Root;

/// The user that a started program runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The user id.
    pub uid: u32,
    /// Its main group.
    pub gid: u32,
    /// All groups, the main one among them.
    pub groups: Vec<u32>,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its home directory, where it has one.
    pub home: Option<String>,
}

impl User {
    /// Finds the user `text`: a name, a number, or `uid:gid`. Names are those of /etc/passwd and
    /// /etc/group; a number needs no entry there.
    pub fn find(root: &Root, text: &str) -> Result<Self, Error> {
        let passwd = root.read("/etc/passwd")?;
        let groups = root.read("/etc/group").unwrap_or_default();
        find(&passwd, &groups, text).ok_or_else(|| {
            let hint = "a user is a name of /etc/passwd, a number, or UID:GID";
            Error::unexpected("find the user", std::path::Path::new(text), hint)
        })
    }

    /// Whether this process runs as this user already, and is not root: only root can become another
    /// user.
    #[must_use]
    pub fn is_this_process(&self) -> bool {
        self.uid != 0 && rustix::process::geteuid().as_raw() == self.uid
    }

    /// Irreversibly becomes this user: its groups, none of the caller's keys, and no privileges from
    /// set-uid programs (prctl(2), PR_SET_NO_NEW_PRIVS). System calls only, for use between fork and
    /// exec.
    pub(crate) fn become_user(&self) -> io::Result<()> {
        if self.is_this_process() {
            // SAFETY: takes only numbers.
            return unsafe { checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into()) };
        }
        // SAFETY: the list lives through the call and its length is passed; the others take numbers.
        // Raw system calls, because the C library would signal threads that a forked child does not
        // have.
        unsafe {
            checked(libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr()))?;
            checked(libc::syscall(libc::SYS_setresgid, self.gid, self.gid, self.gid))?;
            checked(libc::syscall(libc::SYS_setresuid, self.uid, self.uid, self.uid))?;
            leave_keys()?;
            checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())
        }
    }
}

fn checked(answer: libc::c_long) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Starts an empty session keyring. The inherited one exists as long as any process uses it, and all
/// its processes may use its keys, whatever their user (session-keyring(7)).
fn leave_keys() -> io::Result<()> {
    const GET_KEYRING_ID: libc::c_long = 0;
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    const SESSION_KEYRING: libc::c_long = -3;
    const WITHOUT_NAME: libc::c_long = 0;
    let keyctl = |operation: libc::c_long, of: libc::c_long| -> io::Result<()> {
        // SAFETY: takes only numbers, of which 0 means no name and "do not create".
        match unsafe { libc::syscall(libc::SYS_keyctl, operation, of, WITHOUT_NAME) } {
            id if id >= 0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let is = |result: &io::Result<()>, errno| {
        result.as_ref().is_err_and(|cause| cause.raw_os_error() == Some(errno))
    };
    let joined = keyctl(JOIN_SESSION_KEYRING, WITHOUT_NAME);
    // A kernel without keys, or a container's filter that refuses every such call with EPERM, which the
    // kernel never returns for this query: started programs could not access a key either.
    let are_none = is(&joined, libc::ENOSYS)
        || is(&joined, libc::EPERM) && is(&keyctl(GET_KEYRING_ID, SESSION_KEYRING), libc::EPERM);
    if are_none { Ok(()) } else { joined }
}

fn find(passwd: &str, groups: &str, text: &str) -> Option<User> {
    let (user, group) = match text.split_once(':') {
        Some((user, group)) => (user, Some(group.parse::<u32>().ok()?)),
        None => (text, None),
    };
    // For setresuid(2) the largest number means "no change".
    if group == Some(u32::MAX) || user.parse() == Ok(u32::MAX) {
        return None;
    }
    let number = user.parse::<u32>().ok();
    if group.is_some() && number.is_none() {
        return None;
    }
    let entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.filter(|fields| fields.len() >= 6).find(|fields| match number {
        Some(uid) => fields[2].parse() == Ok(uid),
        None => fields[0] == user,
    });
    let uid = number.or_else(|| entry.as_ref()?[2].parse().ok())?;
    let own = entry.as_ref().and_then(|fields| fields[3].parse::<u32>().ok());
    let gid = group.or(own).unwrap_or(uid);
    let name = entry.as_ref().map(|fields| fields[0].to_owned());
    let mut all = vec![gid];
    // An explicit group replaces all groups of the user.
    if let (Some(name), None) = (&name, group) {
        all.extend(memberships(groups, name).filter(|other| *other != gid));
    }
    Some(User { uid, gid, groups: all, name, home: entry.map(|fields| fields[5].to_owned()) })
}

fn memberships<'g>(groups: &'g str, user: &'g str) -> impl Iterator<Item = u32> + 'g {
    groups.lines().filter_map(move |line| {
        let fields: Vec<&str> = line.split(':').collect();
        let members = fields.get(3)?;
        members.split(',').any(|member| member == user).then(|| fields[2].parse().ok())?
    })
}

/// Marks everything but standard input, output and error to be closed at exec (close_range(2), 5.11;
/// one by one before). System calls only.
pub(crate) fn close_the_rest_at_exec() {
    const FIRST: libc::c_uint = 3;
    const CLOEXEC: libc::c_uint = 4;
    /// More than a shell or a service manager ever passes down.
    const LAST: libc::c_int = 4096;
    // SAFETY: descriptors are only marked, and closed when nothing of this program is left.
    unsafe {
        if libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, CLOEXEC) != 0 {
            for descriptor in FIRST as libc::c_int..LAST {
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::kernel::process::Membership;

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/sh\nbench:x:1001:1002:,,,:/home/bench:/bin/sh\n";
    const GROUPS: &str = "root:x:0:\ndisk:x:6:other,bench\nbench:x:1002:bench\n";

    #[test]
    fn a_user_is_a_name_a_number_or_a_pair() {
        let find_user = |text| find(PASSWD, GROUPS, text);
        let bench = find_user("bench").unwrap();
        assert_eq!((bench.uid, bench.gid, bench.groups.clone()), (1001, 1002, vec![1002, 6]));
        assert_eq!(find_user("1001").unwrap(), bench);
        let pair = find_user("1001:7").unwrap();
        assert_eq!((pair.uid, pair.gid, pair.groups), (1001, 7, vec![7]));
        let without_entry = find_user("4242").unwrap();
        assert_eq!((without_entry.gid, without_entry.name), (4242, None));
        for wrong in [
            "nobody-here",
            "bench:6",
            "1:x",
            "-1",
            "",
            ":",
            "4294967296",
            "4294967295:1",
            "1:4294967295",
        ] {
            assert_eq!(find_user(wrong), None, "{wrong}");
        }
    }

    /// Root's session may hold keys of encrypted disks and network file systems.
    #[test]
    fn a_program_of_another_user_has_none_of_roots_keys() {
        const SESSION_KEYRING: libc::c_long = -3;
        const UNLINK: libc::c_long = 9;
        if !rustix::process::geteuid().is_root() || !Path::new("/proc/keys").exists() {
            return;
        }
        let name = format!("assay-test-{}", std::process::id());
        let text = CString::new(name.clone()).unwrap();
        let (kind, secret) = (c"user", b"secret");
        // SAFETY: the texts are zero-terminated and live through the call, and so do the bytes, whose
        // number is passed.
        let key = unsafe {
            libc::syscall(
                libc::SYS_add_key,
                kind.as_ptr(),
                text.as_ptr(),
                secret.as_ptr(),
                secret.len(),
                SESSION_KEYRING,
            )
        };
        // A container may have no keys.
        if key < 0 {
            return;
        }
        let listed = |user: Option<User>| {
            let mut command = Command::new("cat");
            command.arg("/proc/keys").stdout(Stdio::piped());
            let membership = Membership::open(&Root::real(), &[]).unwrap().run_as(user);
            let output = membership.spawn(&mut command).unwrap().wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8_lossy(&output.stdout).contains(&name)
        };
        let nobody = User { uid: 65534, gid: 65534, groups: vec![65534], name: None, home: None };
        let (own, others) = (listed(None), listed(Some(nobody)));
        // SAFETY: takes only numbers.
        unsafe { libc::syscall(libc::SYS_keyctl, UNLINK, key, SESSION_KEYRING) };
        assert!(own, "a workload run by root keeps them");
        assert!(!others, "{name} is listed");
    }
}
