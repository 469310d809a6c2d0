//! Somebody else's work on the same machine: groups, loop devices, mounts and processes that come and go all the time,
//! some with Assay's own prefix.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use crate::tree::entries;

/// Makes and removes them until it is dropped.
#[derive(Debug)]
pub struct Noise {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// How long each stays.
const STAYS: Duration = Duration::from_millis(30);

impl Noise {
    /// Starts making them.
    #[must_use]
    pub fn start() -> Self {
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (ends, counts) = (Arc::clone(&stop), Arc::clone(&rounds));
        let thread = thread::spawn(move || {
            let place = tempfile::Builder::new().prefix("assay-noise-").tempdir().unwrap();
            fs::create_dir(place.path().join("mount")).unwrap();
            while !ends.load(Ordering::Relaxed) {
                round(place.path(), counts.fetch_add(1, Ordering::Relaxed));
            }
        });
        Self { stop, rounds, thread: Some(thread) }
    }

    /// How often everything came and went.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn round(place: &Path, number: u64) {
    // No process has these numbers: they are above the highest (pid_max, 2^22).
    let last = (1 << 22) + 1;
    let names = [
        "noise".to_owned(),
        format!("assay-noise-{}", last + number),
        format!("assay-exec-{last}"),
    ];
    let made: Vec<PathBuf> = hierarchies()
        .iter()
        .flat_map(|hierarchy| names.iter().map(|name| hierarchy.join(name)))
        .filter(|group| fs::create_dir(group).is_ok())
        .collect();
    let sleeper = Command::new("sleep").arg("60").current_dir("/").spawn();
    let mut sleeper = sleeper.expect("sleep is there");
    for group in &made {
        let _ = fs::write(group.join("cgroup.procs"), sleeper.id().to_string());
    }
    let image = place.join("assay-noise.img");
    fs::File::create(&image).unwrap().set_len(1 << 20).unwrap();
    let image = image.to_string_lossy().into_owned();
    let device = said(&["losetup", "--find", "--show", &image]);
    let mount = place.join("mount").to_string_lossy().into_owned();
    said(&["mount", "-t", "tmpfs", "-o", "size=64k", "assay-noise", &mount]);
    sleep(STAYS);
    said(&["umount", &mount]);
    if !device.is_empty() {
        said(&["losetup", "--detach", &device]);
    }
    let _ = sleeper.kill();
    let _ = sleeper.wait();
    for group in &made {
        // A process that was killed leaves its group a moment later.
        for _ in 0..100 {
            if fs::remove_dir(group).is_ok() {
                break;
            }
            sleep(Duration::from_millis(2));
        }
    }
    sleep(STAYS);
}

fn hierarchies() -> Vec<PathBuf> {
    let all = entries(Path::new("/sys/fs/cgroup"));
    let v1: Vec<PathBuf> = all
        .into_iter()
        .filter(|path| path.join("cgroup.procs").exists() && !path.is_symlink())
        .collect();
    match Path::new("/sys/fs/cgroup/cgroup.procs").exists() {
        true => vec![PathBuf::from("/sys/fs/cgroup")],
        false => v1,
    }
}

/// What a program prints, trimmed; nothing if it fails.
fn said(words: &[&str]) -> String {
    let ended = Command::new(words[0]).args(&words[1..]).stderr(Stdio::null()).output();
    ended.map(|ended| String::from_utf8_lossy(&ended.stdout).trim().to_owned()).unwrap_or_default()
}
