//! What a thread waits for in a system call, by the call's number on this machine.

use crate::BlockedOn;

/// How many numbers the programs know (`CALLS` in `programs/blame/memory.h`).
const CALLS: usize = 512;

/// Calls that every architecture has.
const EVERYWHERE: [(BlockedOn, &[i64]); 7] = [
    (
        BlockedOn::Read,
        &[
            libc::SYS_read,
            libc::SYS_readv,
            libc::SYS_pread64,
            libc::SYS_recvfrom,
            libc::SYS_recvmsg,
            libc::SYS_recvmmsg,
            libc::SYS_accept,
            libc::SYS_accept4,
            libc::SYS_connect,
        ],
    ),
    (
        BlockedOn::Write,
        &[
            libc::SYS_write,
            libc::SYS_writev,
            libc::SYS_sendto,
            libc::SYS_sendmsg,
            libc::SYS_sendmmsg,
        ],
    ),
    (
        BlockedOn::Events,
        &[
            libc::SYS_ppoll,
            libc::SYS_pselect6,
            libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2,
            libc::SYS_io_uring_enter,
            libc::SYS_io_getevents,
            libc::SYS_rt_sigtimedwait,
            libc::SYS_rt_sigsuspend,
        ],
    ),
    (BlockedOn::Time, &[libc::SYS_nanosleep, libc::SYS_clock_nanosleep]),
    // 455: futex_wait, 6.7.
    (BlockedOn::Futex, &[libc::SYS_futex, libc::SYS_futex_waitv, 455, libc::SYS_semtimedop]),
    (BlockedOn::Child, &[libc::SYS_wait4, libc::SYS_waitid]),
    (BlockedOn::FileLock, &[libc::SYS_flock, libc::SYS_fcntl]),
];

/// Calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
const OLDER: [(BlockedOn, &[i64]); 1] = [(
    BlockedOn::Events,
    &[libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait, libc::SYS_pause],
)];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [(BlockedOn, &[i64]); 0] = [];

/// `kinds` of `struct settings`.
pub(super) fn kinds() -> [u8; CALLS] {
    let mut kinds = [BlockedOn::Other.number(); CALLS];
    for (kind, calls) in EVERYWHERE.iter().chain(&OLDER) {
        for call in *calls {
            kinds[*call as usize] = kind.number();
        }
    }
    kinds
}
