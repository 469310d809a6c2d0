//! An eBPF classifier that returns the net_cls class of the sender of a packet, for kernels without the
//! equivalent classifier `cgroup` (CONFIG_NET_CLS_CGROUP).

use std::os::fd::OwnedFd;
use std::path::Path;

use crate::kernel::bpf::load;
use crate::kernel::error::Error;

/// From linux/bpf.h.
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
/// `bpf_get_cgroup_classid(skb)`; the context is in R1 at the start of the program, and the result in
/// R0, the program's return value.
const CALL_GET_CGROUP_CLASSID: u64 = 0x85 | 17 << 32;
const EXIT: u64 = 0x95;

/// Loads the program. The result 0, that of a group without a class, passes the packet on to the next
/// classifier.
pub fn class_of_sender() -> Result<OwnedFd, Error> {
    load(BPF_PROG_TYPE_SCHED_CLS, &[CALL_GET_CGROUP_CLASSID, EXIT]).map_err(|cause| {
        Error::new("load a classifier", Path::new("bpf(2)"), &cause)
            .with_hint("it needs CAP_BPF and a kernel with CONFIG_CGROUP_NET_CLASSID")
    })
}
