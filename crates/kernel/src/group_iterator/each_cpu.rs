//! Where memory of each CPU lies. The kernel hands out one address for all CPUs and adds to it what
//! lies between them; that it tells nobody, but a map that has an element for each CPU shows it:
//! its address for all, and that of each CPU (`bpf_map_lookup_percpu_elem`, 5.19).

use std::os::fd::AsRawFd;

use assay_units::CpuSet;

use super::read;
use crate::bpf_code::{ANSWER, Address, Code, FIRST, FRAME};
use crate::bpf_iterator::{BpfIterator, Limit, RECORD, Way, explain};
use crate::btf::{Btf, lacks};
use crate::error::Error;
use crate::mapped_array::for_each_cpu;
use crate::root::Root;

const LOOKUP_OF_CPU: i32 = 195;

/// Places in the frame: a pointer of the kernel, the same as a number, and the element's key.
const POINTER: i32 = -8;
const NUMBER: i32 = -16;
const KEY: i32 = -24;

/// For each CPU that there may ever be, what is to be added to an address for all CPUs. `target`
/// and `below` are those of any iterator over groups.
pub(super) fn distances(
    root: &Root,
    btf: &Btf<'_>,
    target: u32,
    below: &Limit,
) -> Result<Vec<u64>, Error> {
    let array = btf.structure("bpf_array").ok_or_else(|| lacks("bpf_array"))?;
    let place = btf.field(array, "pptrs").ok_or_else(|| lacks("bpf_array.pptrs"))?.offset as i32;
    let map = for_each_cpu()
        .map_err(|cause| explain("make a map with an element for each CPU for", &cause))?;
    let cpus = cpus(root);
    let shape = (1 + cpus.len(), 1);
    let mut walker = BpfIterator::open((target, Way::Called), Some(below), &[], shape, |code| {
        describe(code, map.as_raw_fd(), place, &cpus);
    })?;
    // One record is enough, whatever the number of groups.
    walker.walk()?;
    let record = walker.records().next().map(<[u64]>::to_vec);
    let record = record.ok_or_else(|| lacks("group to walk over"))?;
    let known = record[1..].iter().filter(|address| **address != 0);
    Ok(known.map(|address| address.wrapping_sub(record[0])).collect())
}

fn describe(code: &mut Code, map: i32, place: i32, cpus: &[u16]) {
    code.address(FIRST, Address::Map(map));
    as_number(code, FIRST);
    code.load(8, 3, FRAME, NUMBER);
    code.add_number(3, place);
    read(code, (RECORD, 0));
    code.set(FIRST, 0);
    code.store(FRAME, KEY, FIRST);
    for (index, cpu) in cpus.iter().enumerate() {
        code.address(FIRST, Address::Map(map));
        code.copy(2, FRAME);
        code.add_number(2, KEY);
        code.set(3, i32::from(*cpu));
        code.call(LOOKUP_OF_CPU);
        as_number(code, ANSWER);
        code.load(8, FIRST, FRAME, NUMBER);
        code.store(RECORD, 8 * (1 + index as i32), FIRST);
    }
}

/// Writes a pointer to the frame and reads it back as a number, which the kernel lets nobody
/// calculate with otherwise.
fn as_number(code: &mut Code, pointer: u8) {
    code.store(FRAME, POINTER, pointer);
    code.copy(3, FRAME);
    code.add_number(3, POINTER);
    read(code, (FRAME, NUMBER));
}

/// CPUs that there may ever be; the kernel's own sums go over them too.
fn cpus(root: &Root) -> Vec<u16> {
    let text = root.read_trimmed("/sys/devices/system/cpu/possible").unwrap_or_default();
    text.parse::<CpuSet>().unwrap_or_default().iter().collect()
}
