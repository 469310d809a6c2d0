//! What belongs to the running test: the processes that it started, its folders, and the loop devices that its
//! programs recorded. Everything else on the host is somebody else's, another test's included, and may come and
//! go at any time.
//!
//! Assay puts the number of its process into the name of all that it makes (`assay-NAME-PID`), which outlives the
//! process. So the programs of a test are started through a script that notes its own number first.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

#[derive(Debug, Default)]
struct Own {
    processes: BTreeSet<u32>,
    /// Files to which programs append their process numbers, and how much of each is in there.
    noted: Vec<(PathBuf, u64)>,
    folders: Vec<PathBuf>,
    /// Numbers of loop devices.
    loops: BTreeSet<u32>,
    /// Lines of ledgers.
    ledgers: BTreeSet<String>,
}

fn own() -> MutexGuard<'static, Own> {
    static OWN: OnceLock<Mutex<Own>> = OnceLock::new();
    OWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// A script in `folder` that becomes `program`, whose process is the test's own and gets SIGTERM when the test ends:
/// an interrupted suite leaves nothing behind.
#[must_use]
pub fn program(program: &Path, folder: &Path) -> PathBuf {
    let name = program.file_name().expect("a program has a name").to_string_lossy();
    let script = folder.join(format!("own-{name}"));
    let numbers = folder.join(format!("own-{name}-numbers"));
    fs::write(&numbers, "").unwrap();
    // A program of another user appends, too.
    fs::set_permissions(&numbers, fs::Permissions::from_mode(0o666)).unwrap();
    let text = format!(
        "#!/bin/sh\necho $$ >>{}\nexec /usr/bin/setpriv --pdeathsig TERM -- {} \"$@\"\n",
        numbers.display(),
        program.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    own().noted.push((numbers, 0));
    script
}

/// Declares a process to be the test's own.
pub fn process(number: u32) {
    own().processes.insert(number);
}

/// Declares a folder, with the images and mount points in it, to be the test's own.
pub fn folder(path: &Path) {
    own().folders.push(path.to_owned());
}

/// Declares a loop device to be the test's own.
pub fn loop_device(number: u32) {
    own().loops.insert(number);
}

/// Notes what the ledgers of a state directory name: after a restore nothing does.
pub fn note_ledgers(state: &Path) {
    for ledger in crate::tree::entries(&state.join("ledger")) {
        let text = fs::read_to_string(ledger).unwrap_or_default();
        own().ledgers.extend(text.lines().map(str::to_owned));
    }
}

/// Whether a ledger of the test's programs has named this file.
pub(crate) fn has_named(path: &str) -> bool {
    own().ledgers.iter().any(|line| line.contains(path))
}

/// Whether a loop device of this number is the test's, or was recorded by a program of the test (`Change::AddLoop`).
pub(crate) fn has_loop(number: u32) -> bool {
    own().loops.contains(&number) || has_named(&format!("\"add_loop\":{{\"number\":{number},"))
}

/// Whether a path is in a folder of the test, or in a group, or of an image, that one of its processes has made.
#[must_use]
pub fn has(path: &str) -> bool {
    let in_folder = own().folders.iter().any(|folder| Path::new(path).starts_with(folder));
    in_folder || numbers_in(path).into_iter().any(has_process)
}

pub(crate) fn has_process(number: u32) -> bool {
    let own = &mut *own();
    for (file, noted) in &mut own.noted {
        // A snapshot asks for hundreds of paths.
        let length = fs::metadata(&file).map_or(0, |file| file.len());
        if length > *noted {
            let numbers = fs::read_to_string(file).unwrap_or_default();
            own.processes.extend(numbers.lines().filter_map(|line| line.parse::<u32>().ok()));
            *noted = length;
        }
    }
    number == std::process::id() || own.processes.contains(&number)
}

/// The process numbers in names such as `assay-exec-123`, `assay-disk-123.img` or `theirs-123`.
fn numbers_in(path: &str) -> Vec<u32> {
    let names = path.split(['/', '\n', ' ', ':']);
    let ours = names.filter(|name| name.starts_with("assay-") || name.starts_with("theirs-"));
    let number = |name: &str| {
        let stem = name.split('.').next().unwrap_or(name);
        stem.rsplit('-').next().and_then(|text| text.parse().ok())
    };
    ours.filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_started_through_its_script_is_known_after_its_end() {
        let place = tempfile::tempdir().unwrap();
        let script = program(Path::new("/bin/sh"), place.path());
        let ended = Command::new(script).args(["-c", "echo $$"]).output().unwrap();
        let number: u32 = String::from_utf8(ended.stdout).unwrap().trim().parse().unwrap();
        assert!(has(&format!("/sys/fs/cgroup/cpu/assay-exec-{number}/inside")));
        assert!(has(&format!("/somewhere/assay-disk-{number}.img")));
        assert!(!has(&format!("/sys/fs/cgroup/cpu/other-{number}")));
        assert!(!has("/sys/fs/cgroup/cpu/assay-exec-1"));
    }

    #[test]
    fn loop_devices_are_found_in_ledgers() {
        let state = tempfile::tempdir().unwrap();
        fs::create_dir(state.path().join("ledger")).unwrap();
        let text = "{\"intend\":{\"add_loop\":{\"number\":4001,\"image\":\"/dev/loop4002\"}}}";
        fs::write(state.path().join("ledger/run.jsonl"), text).unwrap();
        note_ledgers(state.path());
        assert_eq!([4001, 4002].map(has_loop), [true, false]);
    }
}
