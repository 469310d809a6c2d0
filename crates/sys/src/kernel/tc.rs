//! Traffic control by rtnetlink: network devices whose packets are classified and counted (tc(8),
//! tc-htb(8)).

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::kernel::error::Error;
use crate::kernel::netlink::{Body, Route, attribute};

/// Requests (linux/rtnetlink.h).
const RTM_NEWLINK: u16 = 16;
const RTM_NEWQDISC: u16 = 36;
const RTM_NEWTCLASS: u16 = 40;
const RTM_GETTCLASS: u16 = 42;
const RTM_NEWTFILTER: u16 = 44;
/// Attributes of links (linux/if_link.h, linux/veth.h).
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
/// Attributes of traffic control (linux/rtnetlink.h, linux/pkt_sched.h, linux/pkt_cls.h).
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS: u16 = 3;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;

const ROOT: u32 = 0xffff_ffff;
/// The root queue of a device set up by [`divide`], `1:` in the notation of tc(8).
const QUEUE: u32 = 0x1_0000;
/// The class of unclassified packets: `1:ff`.
const DEFAULT: u32 = QUEUE | 0xff;
/// One gigabit per second in bytes: no packet waits.
const RATE: u32 = 125_000_000;

/// How packets are classified by their sender's group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classifier {
    /// The classifier `cgroup` (tc-cgroup(8)).
    Cgroup,
    /// An eBPF program that looks up the same class.
    Program,
}

/// Packet counts of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketCounts {
    /// In each requested class, in that order.
    pub classes: Vec<u32>,
    /// In none of them.
    pub rest: u32,
}

/// `struct ifinfomsg`.
fn link(device: u32, flags: u32, changed: u32) -> Body {
    let mut fixed = vec![0; 4];
    for number in [device, flags, changed] {
        fixed.extend(number.to_ne_bytes());
    }
    Body::new(&fixed)
}

/// Brings a device up.
pub fn bring_up(route: &Route, device: u32) -> Result<(), Error> {
    let up = libc::IFF_UP as u32;
    route.change("switch on a network device", RTM_NEWLINK, &link(device, up, up))
}

/// Creates a veth pair: one device in the namespace of `route`, the other in the namespace `outside`.
/// When either disappears, at the latest with its namespace, so does the other.
pub fn make_pair(
    route: &Route,
    name: &str,
    outside: impl AsFd,
    name_outside: &str,
) -> Result<(), Error> {
    let namespace = outside.as_fd().as_raw_fd() as u32;
    let far = link(0, 0, 0).text(IFLA_IFNAME, name_outside).number(IFLA_NET_NS_FD, namespace);
    let info = Body::default()
        .text(IFLA_INFO_KIND, "veth")
        .nested(IFLA_INFO_DATA, &Body::default().nested(VETH_INFO_PEER, &far));
    let pair = link(0, 0, 0).text(IFLA_IFNAME, name).nested(IFLA_LINKINFO, &info);
    route.add("make a pair of network devices", RTM_NEWLINK, &pair)
}

/// `struct tcmsg`.
fn control(device: u32, handle: u32, parent: u32, info: u32) -> Body {
    let mut fixed = vec![0; 4];
    for number in [device, handle, parent, info] {
        fixed.extend(number.to_ne_bytes());
    }
    Body::new(&fixed)
}

/// Gives a device a queue with these classes, each with ample bandwidth. A packet whose priority is the
/// number of a class goes there (tc-htb(8), "Classification"); unclassified packets go to a default
/// class.
pub fn divide(route: &Route, device: u32, classes: &[u32]) -> Result<(), Error> {
    // struct tc_htb_glob: version, rate2quantum, default class, debug, direct packets.
    let settings: Vec<u8> = [3, 10, DEFAULT, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
    let queue = control(device, QUEUE, ROOT, 0)
        .text(TCA_KIND, "htb")
        .nested(TCA_OPTIONS, &Body::default().with(TCA_HTB_INIT, &settings));
    route.add("divide the queue of a network device", RTM_NEWQDISC, &queue)?;
    for class in classes.iter().chain([&DEFAULT]) {
        let request = control(device, *class, QUEUE, 0)
            .text(TCA_KIND, "htb")
            .nested(TCA_OPTIONS, &Body::default().with(TCA_HTB_PARMS, &class_settings()));
        route.add("make a class of packets", RTM_NEWTCLASS, &request)?;
    }
    Ok(())
}

/// `struct tc_htb_opt`.
fn class_settings() -> Vec<u8> {
    // struct tc_ratespec with the link layer of Ethernet, which avoids a table of rates.
    let mut rate = vec![0, 1, 0, 0, 0, 0, 0, 0];
    rate.extend(RATE.to_ne_bytes());
    let mut settings = [rate.clone(), rate].concat();
    // buffer and cbuffer in ticks of 64 ns, quantum in bytes, level and priority.
    for number in [15_625_u32, 15_625, 60_000, 0, 0] {
        settings.extend(number.to_ne_bytes());
    }
    settings
}

/// Classifies packets by the class of the sender's group. Returns the means; the error is that of the
/// second where the kernel supports neither.
pub fn sort_by_group(
    route: &Route,
    device: u32,
    program: impl FnOnce() -> Result<OwnedFd, Error>,
) -> Result<Classifier, Error> {
    const EVERY_PROTOCOL: u32 = (libc::ETH_P_ALL as u16).to_be() as u32;
    let first = || control(device, 1, QUEUE, 1 << 16 | EVERY_PROTOCOL);
    let cgroup = first().text(TCA_KIND, "cgroup").nested(TCA_OPTIONS, &Body::default());
    let what = "sort packets by group";
    if route.add(what, RTM_NEWTFILTER, &cgroup).is_ok() {
        return Ok(Classifier::Cgroup);
    }
    let program = program()?;
    let options =
        Body::default().number(TCA_BPF_FD, program.as_raw_fd() as u32).text(TCA_BPF_NAME, "assay");
    let bpf = first().text(TCA_KIND, "bpf").nested(TCA_OPTIONS, &options);
    route.add(what, RTM_NEWTFILTER, &bpf)?;
    Ok(Classifier::Program)
}

/// The number of packets that a divided device has sent so far.
pub fn packet_counts(route: &Route, device: u32, classes: &[u32]) -> Result<PacketCounts, Error> {
    let all = route.list("count packets", RTM_GETTCLASS, &control(device, 0, 0, 0))?;
    let known: Vec<(u32, u32)> = all.iter().filter_map(|message| class_of(message)).collect();
    let packets_of = |class: u32| {
        known.iter().find(|(known, _)| *known == class).map_or(0, |(_, packets)| *packets)
    };
    Ok(PacketCounts {
        classes: classes.iter().map(|class| packets_of(*class)).collect(),
        rest: packets_of(DEFAULT),
    })
}

/// The number of a class and its packets, from one message of a list.
fn class_of(message: &[u8]) -> Option<(u32, u32)> {
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
    };
    // struct tcmsg has the handle at 8; struct tc_stats the packets after 8 bytes of byte count.
    let packets = word(attribute(message.get(20..)?, TCA_STATS)?, 8)?;
    Some((word(message, 8)?, packets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_size_that_the_kernel_requires() {
        assert_eq!(class_settings().len(), 44);
    }

    #[test]
    fn a_class_is_read_with_its_packets() {
        let mut stats = 4200_u64.to_ne_bytes().to_vec();
        stats.extend(42_u32.to_ne_bytes());
        let mut message = vec![0; 8];
        for number in [QUEUE | 0x10, QUEUE, 0_u32] {
            message.extend(number.to_ne_bytes());
        }
        assert_eq!(class_of(&message), None);
        for kind in [TCA_KIND, TCA_STATS] {
            message.extend(((4 + stats.len()) as u16).to_ne_bytes());
            message.extend(kind.to_ne_bytes());
            message.extend(&stats);
        }
        assert_eq!(class_of(&message), Some((QUEUE | 0x10, 42)));
    }
}
