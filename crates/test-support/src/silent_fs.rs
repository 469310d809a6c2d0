//! A FUSE file system whose server reads every request and answers none: a process that asks it anything waits in
//! the kernel, beyond SIGKILL, until it is removed.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// Opcode of the first request (include/uapi/linux/fuse.h), without whose answer all others are held back.
const INIT: u32 = 26;
/// Opcode of the request that opens a file.
const OPEN: u32 = 14;

/// The mount; unmounted when dropped, which ends everything that waits for it with an error.
pub struct SilentFs {
    /// Where it is mounted.
    pub at: PathBuf,
    waiting: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl SilentFs {
    /// `None` if the host has no FUSE.
    #[must_use]
    pub fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        Self::mount_over(at, "40000")
    }

    /// A file system that is one file: opening it is answered, and nothing else. Closing it waits (FUSE_FLUSH).
    #[must_use]
    pub fn mount_file(at: &Path) -> Option<Self> {
        std::fs::write(at, "").unwrap();
        Self::mount_over(at, "100000")
    }

    fn mount_over(at: &Path, mode: &str) -> Option<Self> {
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let device = File::options()
            .read(true)
            .write(true)
            .custom_flags(nonblocking)
            .open("/dev/fuse")
            .ok()?;
        let data = format!("fd={},rootmode={mode},user_id=0,group_id=0", device.as_raw_fd());
        let data = CString::new(data).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("assay-silent", at, "fuse", flags, Some(data.as_c_str())).ok()?;
        let (waiting, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, end) = (Arc::clone(&waiting), Arc::clone(&stop));
        let server = std::thread::spawn(move || serve(device, &count, &end));
        Some(Self { at: at.to_owned(), waiting, stop, server: Some(server) })
    }

    /// Returns when someone waits for an answer.
    pub fn wait_for_a_victim(&self) {
        let begun = Instant::now();
        while self.waiting.load(Ordering::Acquire) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody asks");
            sleep(Duration::from_millis(5));
        }
    }
}

fn serve(mut device: File, waiting: &AtomicUsize, stop: &AtomicBool) {
    let mut request = vec![0; 1 << 18];
    while !stop.load(Ordering::Acquire) {
        let Ok(length @ 16..) = device.read(&mut request) else {
            sleep(Duration::from_millis(2));
            continue;
        };
        assert!(length >= 16);
        let opcode = u32::from_ne_bytes(request[4..8].try_into().unwrap());
        let words: &[u32] = match opcode {
            // Version 7.12, no options.
            INIT => &[7, 12, 0, 0, 0, 4096],
            // A handle, no options.
            OPEN => &[0; 4],
            _ => {
                waiting.fetch_add(1, Ordering::Release);
                continue;
            }
        };
        // Length, no error, the request's number.
        let length = u32::try_from(16 + 4 * words.len()).unwrap();
        let mut answer = Vec::new();
        answer.extend([length, 0].map(u32::to_ne_bytes).as_flattened());
        answer.extend(&request[8..16]);
        answer.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        device.write_all(&answer).unwrap();
    }
}

impl Drop for SilentFs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // This aborts the connection, and so does closing the device; but another thread may have a copy of that.
        let _ = unmount(&self.at, UnmountFlags::FORCE);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
        let _ = unmount(&self.at, UnmountFlags::DETACH);
    }
}
