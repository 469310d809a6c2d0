//! CPU and memory placement of a process, set between fork and exec: the memory policy of a thread, its
//! CPUs and its huge page mode are kept over exec and inherited by all threads and children
//! (sched_setaffinity(2), set_mempolicy(2), PR_SET_THP_DISABLE(2const)).

use std::fmt;
use std::io;

use crate::units::{CpuSet, MemoryPolicy};

/// The placement applied to a process before exec. The default keeps everything inherited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// The CPUs it may run on.
    pub cpus: Option<CpuSet>,
    /// Its memory policy.
    pub memory: Option<MemoryPolicy>,
    /// Its huge pages.
    pub huge_pages: Option<HugePageMode>,
}

/// Limits the use of transparent huge pages. No per-process mode allows more than the host's setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HugePageMode {
    /// The host's setting, whatever the parent has.
    Default,
    /// Only where requested with madvise(2), since 6.18.
    Advised,
    /// None, since 3.15.
    Never,
}

impl Placement {
    /// Whether anything is set.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.cpus.is_some() || self.memory.is_some() || self.huge_pages.is_some()
    }

    pub(crate) fn prepared(&self) -> Prepared {
        Prepared {
            cpus: self.cpus.as_ref().map(Mask::new),
            memory: self.memory.as_ref().map(|policy| {
                let nodes = policy.nodes().map(Mask::new);
                (mode(policy), nodes)
            }),
            huge_pages: self.huge_pages,
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.cpus.as_ref().map(|cpus| format!("CPUs {cpus}")));
        parts.extend(self.memory.as_ref().map(|memory| format!("memory {memory}")));
        parts.extend(self.huge_pages.map(|mode| format!("huge pages {mode}")));
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for HugePageMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Advised => "advised",
            Self::Never => "never",
        })
    }
}

/// The modes of linux/mempolicy.h.
const fn mode(policy: &MemoryPolicy) -> libc::c_int {
    match policy {
        MemoryPolicy::FirstTouch => 0,
        MemoryPolicy::Preferred(_) => 1,
        MemoryPolicy::Bind(_) => 2,
        MemoryPolicy::Interleave(_) => 3,
        MemoryPolicy::Local => 4,
        MemoryPolicy::PreferredMany(_) => 5,
        MemoryPolicy::WeightedInterleave(_) => 6,
    }
}

/// Bits of a mask: NR_CPUS and MAX_NUMNODES are at most 8192 and 1024 on x86-64 and arm64.
const BITS: usize = 8192;

/// The number of nodes passed to the kernel. It refuses bits beyond its own mask only if they are set.
const NODES: usize = 1024;

/// A set of ids as a kernel bit mask.
#[derive(Debug, Clone)]
struct Mask([u64; BITS / 64]);

impl Mask {
    fn new(ids: &crate::units::IdSet) -> Self {
        let mut mask = Self([0; BITS / 64]);
        for id in ids.iter() {
            if let Some(word) = mask.0.get_mut(usize::from(id) / 64) {
                *word |= 1 << (id % 64);
            }
        }
        mask
    }
}

/// A placement in a form that can be applied without allocating.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    cpus: Option<Mask>,
    memory: Option<(libc::c_int, Option<Mask>)>,
    huge_pages: Option<HugePageMode>,
}

/// `PR_THP_DISABLE_EXCEPT_ADVISED` of linux/prctl.h, since 6.18.
const EXCEPT_ADVISED: libc::c_ulong = 2;

impl Prepared {
    /// Applies it to the calling thread. Makes only system calls, so it may be called between fork and
    /// exec.
    pub(crate) fn apply(&self) -> io::Result<()> {
        if let Some(cpus) = &self.cpus {
            // SAFETY: the mask lives through the call and its length is passed.
            checked(unsafe {
                libc::syscall(libc::SYS_sched_setaffinity, 0, BITS / 8, cpus.0.as_ptr())
            })?;
        }
        if let Some((mode, nodes)) = &self.memory {
            let (mask, bits) = match nodes {
                // The kernel reads one bit less than the number passed (set_mempolicy(2), BUGS).
                Some(nodes) => (nodes.0.as_ptr(), NODES + 1),
                None => (std::ptr::null(), 0),
            };
            // SAFETY: the mask lives through the call and has more bits than the number passed.
            checked(unsafe { libc::syscall(libc::SYS_set_mempolicy, *mode, mask, bits) })?;
        }
        if let Some(mode) = self.huge_pages {
            let (disable, flags): (libc::c_ulong, libc::c_ulong) = match mode {
                HugePageMode::Default => (0, 0),
                HugePageMode::Advised => (1, EXCEPT_ADVISED),
                HugePageMode::Never => (1, 0),
            };
            let none: libc::c_ulong = 0;
            // SAFETY: PR_SET_THP_DISABLE takes only numbers.
            let answer =
                unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, disable, flags, none, none) };
            checked(i64::from(answer))?;
        }
        Ok(())
    }
}

fn checked(answer: i64) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Root;
    use crate::kernel::process::Membership;
    use std::process::{Command, Stdio};

    /// The contents of `file` as read by a child started with this placement.
    fn read_in_child(placement: Placement, file: &str) -> String {
        let groups = Membership::open(&Root::real(), &[]).unwrap();
        let mut command = Command::new("cat");
        command.arg(file).stdout(Stdio::piped());
        let child = groups.placed(placement).spawn(&mut command).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_child_has_its_cpus_and_its_huge_pages_from_its_first_instruction() {
        let own = crate::kernel::affinity::allowed_cpus(std::process::id()).unwrap();
        let last = *own.last().unwrap();
        let placement = Placement {
            cpus: Some([last].into_iter().collect()),
            huge_pages: Some(HugePageMode::Never),
            ..Placement::default()
        };
        let status = read_in_child(placement, "/proc/self/status");
        let value = |key| crate::kernel::parse::keyed::colon(&status, key);
        assert_eq!(value("Cpus_allowed_list"), Some(last.to_string().as_str()));
        // Shown since 5.0.
        assert!(matches!(value("THP_enabled"), Some("0") | None), "{status}");
    }

    #[test]
    fn a_child_keeps_its_memory_policy_over_exec() {
        if !std::path::Path::new("/proc/self/numa_maps").exists() {
            return;
        }
        for policy in ["local", "bind:0", "interleave:0", "preferred:0"] {
            let policy: MemoryPolicy = policy.parse().unwrap();
            let placement = Placement { memory: Some(policy.clone()), ..Placement::default() };
            let maps = read_in_child(placement, "/proc/self/numa_maps");
            let shown = format!(" {} ", policy.as_kernel_shows());
            assert!(maps.contains(&shown), "{policy}: {maps}");
        }
    }

    #[test]
    fn a_mask_has_cpus_beyond_1024() {
        let mask = Mask::new(&"3,1024,8191".parse().unwrap());
        let set: Vec<usize> =
            (0..mask.0.len() * 64).filter(|cpu| mask.0[cpu / 64] >> (cpu % 64) & 1 == 1).collect();
        assert_eq!(set, [3, 1024, 8191]);
    }

    #[test]
    fn an_impossible_placement_is_an_error_that_names_it() {
        let groups = Membership::open(&Root::real(), &[]).unwrap();
        let nowhere = Placement { cpus: Some("8000".parse().unwrap()), ..Placement::default() };
        let error = groups.placed(nowhere).spawn(&mut Command::new("true")).unwrap_err();
        assert!(error.to_string().contains("CPUs 8000"), "{error}");
    }
}
