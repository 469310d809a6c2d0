//! What the kernel counts of an eBPF program: runs it missed, and, while asked to, how long it ran.

use std::cell::Cell;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::kernel::bpf::call;
use crate::kernel::error::Error;

/// From linux/bpf.h.
const BPF_OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const BPF_ENABLE_STATS: libc::c_long = 32;
const BPF_STATS_RUN_TIME: u32 = 0;

/// Words of `struct bpf_prog_info`, up to `recursion_misses`, and where `run_time_ns` and `run_cnt` are.
const WORDS: usize = 27;
const RUN_TIME: usize = 24;
const RUNS: usize = 25;

/// `union bpf_attr` for BPF_OBJ_GET_INFO_BY_FD; the kernel writes how many bytes of the information it has.
#[repr(C)]
struct Ask {
    descriptor: u32,
    length: Cell<u32>,
    info: u64,
}

/// What a program has done since it was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// How often it ran while [`RunTimes`] existed.
    pub times: u64,
    /// How long that took, reading the clock included.
    pub ns: u64,
    /// How often it did not run where it should have, since it was running on that CPU already.
    pub missed: u64,
}

impl std::iter::Sum for Ran {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let none = Self { times: 0, ns: 0, missed: 0 };
        all.fold(none, |sum, one| Self {
            times: sum.times + one.times,
            ns: sum.ns + one.ns,
            missed: sum.missed + one.missed,
        })
    }
}

/// `None` before 5.12, which does not tell all of it.
pub(crate) fn ran(program: &OwnedFd) -> Option<Ran> {
    let mut info = [0_u64; WORDS];
    let request = Ask {
        descriptor: program.as_raw_fd() as u32,
        length: Cell::new(size_of_val(&info) as u32),
        info: info.as_mut_ptr() as u64,
    };
    call(BPF_OBJ_GET_INFO_BY_FD, &request).ok()?;
    read(&info, request.length.get())
}

fn read(info: &[u64; WORDS], known: u32) -> Option<Ran> {
    let is_whole = known as usize >= size_of_val(info);
    is_whole.then(|| Ran { times: info[RUNS], ns: info[RUN_TIME], missed: info[WORDS - 1] })
}

/// While it exists the kernel measures each run of every eBPF program of the host (5.8), which makes each take longer.
#[derive(Debug)]
pub struct RunTimes {
    _descriptor: OwnedFd,
}

impl RunTimes {
    /// Begins; it ends when this value is dropped or the process ends.
    ///
    /// # Errors
    /// The kernel or its policy refuses it.
    pub fn measure() -> Result<Self, Error> {
        let refused =
            |cause| Error::new("measure", Path::new("the run time of eBPF programs"), &cause);
        let descriptor = call(BPF_ENABLE_STATS, &BPF_STATS_RUN_TIME).map_err(refused)?;
        // SAFETY: BPF_ENABLE_STATS has just returned this descriptor, and it is not used elsewhere.
        Ok(Self { _descriptor: unsafe { OwnedFd::from_raw_fd(descriptor as i32) } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_did_is_in_the_words_that_kernels_since_5_12_have() {
        let mut info = [1; WORDS];
        (info[RUN_TIME], info[RUNS], info[WORDS - 1]) = (5, 6, 7);
        assert_eq!(read(&info, 216), Some(Ran { times: 6, ns: 5, missed: 7 }));
        assert_eq!(read(&info, 208), None, "an older kernel");
        // /dev/null is no program.
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(ran(&file.into()), None);
    }
}
