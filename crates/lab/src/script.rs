//! What the lab's init step in a guest is told: settings and the command, as lines of shell.
//!
//! The step itself is `guest/init`, a file of plain shell that is the same for every guest.

use std::path::{Path, PathBuf};

use assay_escape::shell_word;
use assay_plan::NullBlkSpeed;
use assay_study::DiskChoice;
use assay_units::Bytes;

use crate::cache::is_plain;
use crate::guest::{Errand, Word};
use crate::spec::GuestSpec;

/// The init step.
pub(crate) const INIT: &str = include_str!("../guest/init");

/// A folder of the guest's own, with room for scratch images where the errand asks for it.
pub const WORK: &str = "/run/assay/work";

/// Where the command's directory is shown, besides its own place.
pub(crate) const DIRECTORY: &str = "/run/assay/directory";

/// The size of a null_blk that names none.
const NULL_BLK_SIZE: Bytes = Bytes::mebi(1024);

/// Serial numbers by which the guest finds its disks.
pub(crate) const SWAP: &str = "assay-swap";
/// The disk behind [`WORK`].
pub(crate) const WORK_DISK: &str = "assay-work";

/// The serial number of the disk with this number, from 1.
pub(crate) fn serial(number: usize) -> String {
    format!("assay-disk-{number}")
}

/// The settings of the init step.
pub(crate) fn settings(spec: &GuestSpec, errand: &Errand, guest: &str) -> String {
    let mut lines = vec![
        format!("layout={}", shell_word(spec.layout.word())),
        format!("swap={}", shell_word(if spec.swap.is_some() { SWAP } else { "" })),
        format!("work={}", shell_word(if errand.work.is_some() { WORK_DISK } else { "" })),
        // The lab ends the guest before; this is for a guest whose lab was killed.
        format!("limit={}", spec.timeout.as_secs() + 60),
        format!("back={}", shell_word(errand.back.as_ref().map_or("", |back| back.from.as_str()))),
        format!("directory={}", shell_word(&shown(errand.directory.as_deref()))),
        format!("export ASSAY_LAB_GUEST={}", shell_word(guest)),
    ];
    for (name, value) in &errand.environment {
        lines.push(format!("export {name}={}", shell_word(value)));
    }
    lines.push("disks() {\n    :".to_owned());
    for (index, disk) in spec.disks.iter().enumerate() {
        lines.push(format!("    {}", disk_line(index + 1, disk)));
    }
    lines.push("}\n".to_owned());
    lines.join("\n")
}

fn shown(path: Option<&Path>) -> String {
    path.map(|path| path.display().to_string()).unwrap_or_default()
}

fn disk_line(number: usize, disk: &DiskChoice) -> String {
    let DiskChoice::NullBlk { iops, depth, size } = disk else {
        return format!("use_disk {number} {}", serial(number));
    };
    let size = size.unwrap_or(NULL_BLK_SIZE).get() >> 20;
    let mut words = vec![format!("make_null_blk {number} size={size}")];
    let speed = NullBlkSpeed { iops: *iops, depth: *depth };
    words.extend(speed.attributes().iter().map(|(name, value)| format!("{name}={value}")));
    // Whoever asks for a disk by hand expects to read what was written.
    words.push("memory_backed=1".to_owned());
    words.join(" ")
}

/// The command as a line of shell.
pub(crate) fn command(words: &[Word]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| match word {
            Word::Text(text) => shell_word(text),
            Word::Disk(number) => format!("\"block:$ASSAY_LAB_DISK_{number}\""),
        })
        .collect();
    format!("{}\n", words.join(" "))
}

/// Where a folder of the host that is shown to the guest appears there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The place in the guest, absolute.
    pub guest: PathBuf,
    /// The folder of the host.
    pub host: PathBuf,
}

/// The directory of the errand as the init step finds it: where it lies below a folder that is the
/// guest's own (/run, /var/tmp), it is put at its place from here.
pub(crate) fn directory(errand: &Errand) -> Option<Shown> {
    let host = errand.directory.clone()?;
    let can_be_told = is_plain(&host) && host.is_dir();
    can_be_told.then(|| Shown { guest: DIRECTORY.into(), host })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_the_caller_is_shown_where_it_can_be_told() {
        let place = tempfile::tempdir().unwrap();
        let shown =
            |place: PathBuf| directory(&Errand { directory: Some(place), ..Errand::default() });
        let found = shown(place.path().to_owned()).unwrap();
        assert_eq!(
            (found.guest.as_path(), found.host.as_path()),
            (Path::new(DIRECTORY), place.path())
        );
        assert!(INIT.contains(DIRECTORY), "the init step looks for it elsewhere");
        assert_eq!(shown(place.path().join("gone")), None);
        let odd = place.path().join("a,b");
        std::fs::create_dir(&odd).unwrap();
        assert_eq!(shown(odd), None);
        assert_eq!(directory(&Errand::default()), None);
    }

    fn lines(spec: &GuestSpec) -> String {
        settings(spec, &Errand::default(), "{\"kernel\":\"6.1\"}")
    }

    #[test]
    fn words_stay_one_word_whatever_is_in_them() {
        let words = [Word::Text("a b".to_owned()), Word::Disk(1)];
        assert_eq!(command(&words), "'a b' \"block:$ASSAY_LAB_DISK_1\"\n");
    }

    #[test]
    fn disks_are_made_or_found_by_their_number() {
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
    fn the_init_step_and_every_settings_file_are_sound_shell() {
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
