//! Input of the lab's init step in a guest: settings and the command, as shell code.
//!
//! The step itself is `guest/init`, a plain shell script that is the same for every guest.

use std::path::Path;

use assay_study::DiskOverride;
use assay_study::plan::NullBlkSpeed;
use assay_sys::escape::shell_word;
use assay_sys::units::Bytes;

use crate::cache::is_plain;
use crate::spec::GuestSpec;
use crate::task::{Argument, GuestTask, ReadOnlyMount};

/// The init step.
pub(crate) const INIT: &str = include_str!("../guest/init");

/// A private folder of the guest, with space for scratch images if the task requests it.
pub const WORK: &str = "/run/assay/work";

/// Where the command's directory is mounted, in addition to its own path.
pub(crate) const DIRECTORY: &str = "/run/assay/directory";

/// Default size of a null_blk device.
const NULL_BLK_SIZE: Bytes = Bytes::mebi(1024);

/// Serial numbers by which the guest identifies its disks.
pub(crate) const SWAP: &str = "assay-swap";
/// The disk for [`WORK`].
pub(crate) const WORK_DISK: &str = "assay-work";

/// The serial number of the disk with this number, from 1.
pub(crate) fn serial(number: usize) -> String {
    format!("assay-disk-{number}")
}

/// The settings of the init step.
pub(crate) fn settings(spec: &GuestSpec, task: &GuestTask, guest: &str) -> String {
    let mut lines = vec![
        format!("layout={}", shell_word(spec.layout.word())),
        format!("swap={}", shell_word(if spec.swap.is_some() { SWAP } else { "" })),
        format!("work={}", shell_word(if task.work.is_some() { WORK_DISK } else { "" })),
        // The lab normally ends the guest earlier; this applies if the lab was killed.
        format!("limit={}", spec.timeout.as_secs() + 60),
        format!(
            "back={}",
            shell_word(task.results.as_ref().map_or("", |results| results.from.as_str()))
        ),
        format!("directory={}", shell_word(&path_text(task.directory.as_deref()))),
        format!("in_memory={}", shell_word(&task.in_memory.join(" "))),
        format!("export ASSAY_LAB_GUEST={}", shell_word(guest)),
    ];
    for (name, value) in &task.environment {
        lines.push(format!("export {name}={}", shell_word(value)));
    }
    lines.push("disks() {\n    :".to_owned());
    for (index, disk) in spec.disks.iter().enumerate() {
        lines.push(format!("    {}", disk_line(index + 1, disk)));
    }
    lines.push("}\n".to_owned());
    lines.join("\n")
}

fn path_text(path: Option<&Path>) -> String {
    path.map(|path| path.display().to_string()).unwrap_or_default()
}

fn disk_line(number: usize, disk: &DiskOverride) -> String {
    let DiskOverride::NullBlk { iops, depth, size } = disk else {
        return format!("use_disk {number} {}", serial(number));
    };
    let size = size.unwrap_or(NULL_BLK_SIZE).get() >> 20;
    let mut words = vec![format!("make_null_blk {number} size={size}")];
    let speed = NullBlkSpeed { iops: *iops, depth: *depth };
    words.extend(speed.attributes().iter().map(|(name, value)| format!("{name}={value}")));
    // A disk requested by hand should return what was written to it.
    words.push("memory_backed=1".to_owned());
    words.join(" ")
}

/// The command as a line of shell.
pub(crate) fn command(words: &[Argument]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| match word {
            Argument::Text(text) => shell_word(text),
            Argument::Disk(number) => format!("\"block:$ASSAY_LAB_DISK_{number}\""),
        })
        .collect();
    format!("{}\n", words.join(" "))
}

/// The task's directory as mounted for the init step: if it is below a folder that the guest hides
/// (/run, /var/tmp), the init step moves it to its own path.
pub(crate) fn directory(task: &GuestTask) -> Option<ReadOnlyMount> {
    let host = task.directory.clone()?;
    let can_be_told = is_plain(&host) && host.is_dir();
    can_be_told.then(|| ReadOnlyMount { guest: DIRECTORY.into(), host })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A function of the init step.
    fn function(name: &str) -> &'static str {
        let begin = INIT.find(&format!("{name}() {{")).unwrap();
        let length = INIT[begin..].find("\n}\n").unwrap() + 3;
        &INIT[begin..begin + length]
    }

    #[test]
    fn the_caller_s_directory_is_mounted_if_qemu_options_can_contain_its_path() {
        let place = tempfile::tempdir().unwrap();
        let mounted = |place: PathBuf| {
            directory(&GuestTask { directory: Some(place), ..GuestTask::default() })
        };
        let mount = mounted(place.path().to_owned()).unwrap();
        assert_eq!(
            (mount.guest.as_path(), mount.host.as_path()),
            (Path::new(DIRECTORY), place.path())
        );
        assert!(INIT.contains(DIRECTORY), "the init step uses another path");
        assert_eq!(mounted(place.path().join("gone")), None);
        let odd = place.path().join("a,b");
        std::fs::create_dir(&odd).unwrap();
        assert_eq!(mounted(odd), None);
        assert_eq!(directory(&GuestTask::default()), None);
    }

    fn lines(spec: &GuestSpec) -> String {
        settings(spec, &GuestTask::default(), "{\"kernel\":\"6.1\"}")
    }

    #[test]
    fn arguments_are_quoted_completely() {
        let words = [Argument::Text("a b".to_owned()), Argument::Disk(1)];
        assert_eq!(command(&words), "'a b' \"block:$ASSAY_LAB_DISK_1\"\n");
    }

    #[test]
    fn disks_are_created_or_found_by_number() {
        let spec = GuestSpec {
            disks: vec![
                "null_blk:iops=500,depth=32".parse().unwrap(),
                "nvme:2GiB".parse().unwrap(),
            ],
            ..GuestSpec::default()
        };
        let text = lines(&spec);
        assert!(
            text.contains(
                "make_null_blk 1 size=1024 submit_queues=1 hw_queue_depth=32 irqmode=2 \
                 completion_nsec=64000000 memory_backed=1"
            ),
            "{text}"
        );
        assert!(text.contains("use_disk 2 assay-disk-2"), "{text}");
    }

    #[test]
    fn programs_that_start_often_are_put_into_memory_with_their_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let [program, library, memory] =
            ["assay", "libc.so.6", "memory"].map(|name| folder.path().join(name));
        for file in [&program, &library] {
            std::fs::write(file, "contents").unwrap();
        }
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        std::fs::File::open(&library).unwrap().set_modified(long_ago).unwrap();
        let task = GuestTask {
            in_memory: vec![program.display().to_string(), "/no/such/program".to_owned()],
            ..GuestTask::default()
        };
        let settings = settings(&GuestSpec::default(), &task, "{}");
        let function =
            function("keep_in_memory").replace("/run/assay/memory", &memory.display().to_string());
        let fakes = format!(
            "note() {{ echo \"note: $*\"; }}\nmount() {{ echo \"mount $*\"; }}\n\
             ldd() {{ printf '\\tlibc.so.6 => %s (0x7f)\\n' '{}'; }}\n",
            library.display()
        );
        let script = format!("{settings}\n{fakes}\n{function}\nkeep_in_memory\n");
        let ran = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let out = String::from_utf8_lossy(&ran.stdout);
        let copy = memory.join("assay");
        let bound = format!("mount -o bind {} {}", copy.display(), program.display());
        assert!(out.lines().any(|line| line == bound), "{out}");
        assert!(out.contains("note: /no/such/program could not be copied"), "{out}");
        assert_eq!(std::fs::read(copy).unwrap(), b"contents");
        assert!(library.metadata().unwrap().modified().unwrap() > long_ago, "it stays outside");
    }

    #[test]
    fn configfs_is_missed_only_where_nobody_has_mounted_it() {
        let is_missed = |mounts: &str| {
            let fakes = format!(
                "note() {{ echo \"note: $*\"; }}\nmodprobe() {{ :; }}\nmount() {{ return 32; }}\n\
                 cat() {{ echo '{mounts}'; }}\n"
            );
            let script = format!("{fakes}{}load_modules\n", function("load_modules"));
            let ran = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            String::from_utf8_lossy(&ran.stdout).contains("configfs could not be mounted")
        };
        assert!(is_missed("sysfs /sys sysfs rw 0 0"));
        assert!(!is_missed("none /sys/kernel/config configfs rw,relatime 0 0"));
    }

    #[test]
    fn the_init_step_and_all_settings_are_valid_shell() {
        let folder = tempfile::tempdir().unwrap();
        let spec = GuestSpec { swap: Some(Bytes::mebi(64)), ..GuestSpec::default() };
        for (name, text) in [("init", INIT.to_owned()), ("settings", lines(&spec))] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let checked = std::process::Command::new("sh").arg("-n").arg(&path).output().unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
        assert!(INIT.is_ascii());
    }
}
