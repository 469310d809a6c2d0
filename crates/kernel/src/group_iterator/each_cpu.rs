//! Offsets of per-CPU memory. The kernel uses one base address for all CPUs and adds an offset for
//! each; it does not export these, but a map with an element per CPU reveals them: its base address,
//! and that of each CPU's element (`bpf_map_lookup_percpu_elem`, 5.19).

use std::os::fd::AsRawFd;

use assay_units::CpuSet;

use super::read;
use crate::bpf_code::{Address, Code, R0, R1, R10};
use crate::bpf_iterator::{BpfIterator, Iteration, Limit, RECORD, explain};
use crate::btf::{Btf, lacks};
use crate::error::Error;
use crate::mapped_array::for_each_cpu;
use crate::root::Root;

const LOOKUP_OF_CPU: i32 = 195;

/// Offsets in the frame: a kernel pointer, the same as a number, and the element's key.
const POINTER: i32 = -8;
const NUMBER: i32 = -16;
const KEY: i32 = -24;

/// For each possible CPU, the offset to add to a per-CPU base address. `target` and `below` are those
/// of any iterator over groups.
pub(super) fn distances(
    root: &Root,
    btf: &Btf<'_>,
    target: u32,
    below: &Limit,
) -> Result<Vec<u64>, Error> {
    let array = btf.structure("bpf_array").ok_or_else(|| lacks("bpf_array"))?;
    let offset = btf.field(array, "pptrs").ok_or_else(|| lacks("bpf_array.pptrs"))?.offset as i32;
    let map = for_each_cpu()
        .map_err(|cause| explain("make a map with an element for each CPU for", &cause))?;
    let cpus = cpus(root);
    let shape = (1 + cpus.len(), 1);
    let mut iterator =
        BpfIterator::open((target, Iteration::PerObject), Some(below), &[], shape, |code| {
            describe(code, map.as_raw_fd(), offset, &cpus);
        })?;
    // One record is enough, whatever the number of groups.
    iterator.walk()?;
    let record = iterator.records().next().map(<[u64]>::to_vec);
    let record = record.ok_or_else(|| lacks("group to walk over"))?;
    let addresses = record[1..].iter().filter(|address| **address != 0);
    Ok(addresses.map(|address| address.wrapping_sub(record[0])).collect())
}

fn describe(code: &mut Code, map: i32, offset: i32, cpus: &[u16]) {
    code.address(R1, Address::Map(map));
    as_number(code, R1);
    code.load(8, 3, R10, NUMBER);
    code.add_number(3, offset);
    read(code, (RECORD, 0));
    code.set(R1, 0);
    code.store(R10, KEY, R1);
    for (index, cpu) in cpus.iter().enumerate() {
        code.address(R1, Address::Map(map));
        code.copy(2, R10);
        code.add_number(2, KEY);
        code.set(3, i32::from(*cpu));
        code.call(LOOKUP_OF_CPU);
        as_number(code, R0);
        code.load(8, R1, R10, NUMBER);
        code.store(RECORD, 8 * (1 + index as i32), R1);
    }
}

/// Stores a pointer in the frame and reads it back as a number, because the verifier does not allow
/// arithmetic on it otherwise.
fn as_number(code: &mut Code, pointer: u8) {
    code.store(R10, POINTER, pointer);
    code.copy(3, R10);
    code.add_number(3, POINTER);
    read(code, (R10, NUMBER));
}

/// All possible CPUs; the kernel's own sums include them too.
fn cpus(root: &Root) -> Vec<u16> {
    let text = root.read_trimmed("/sys/devices/system/cpu/possible").unwrap_or_default();
    text.parse::<CpuSet>().unwrap_or_default().iter().collect()
}
