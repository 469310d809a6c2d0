//! Maps of bpf(2): memory that eBPF programs and this process share, by key.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::kernel::bpf::call;
use crate::kernel::error::Error;

/// Commands of bpf(2), from linux/bpf.h.
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_MAP_LOOKUP_BATCH: libc::c_long = 24;

/// The shape of a map, laid out as the start of `union bpf_attr` for BPF_MAP_CREATE.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapShape {
    /// `BPF_MAP_TYPE_*`.
    pub kind: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// The highest number of entries.
    pub entries: u32,
    /// `BPF_F_*`.
    pub flags: u32,
}

/// `union bpf_attr` for commands on one entry.
#[repr(C)]
struct Entry {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// `union bpf_attr` for commands on many entries.
#[repr(C)]
struct Batch {
    after: u64,
    last: u64,
    keys: u64,
    values: u64,
    /// The kernel writes how many it has read.
    count: Cell<u32>,
    map: u32,
    entry_flags: u64,
    flags: u64,
}

/// A map. Programs loaded with it keep it alive.
#[derive(Debug)]
pub struct BpfMap {
    descriptor: OwnedFd,
    shape: MapShape,
}

impl BpfMap {
    /// Creates a map.
    ///
    /// # Errors
    /// The kernel refuses it: privileges, or no memory.
    pub fn create(shape: MapShape) -> Result<Self, Error> {
        let descriptor = call(BPF_MAP_CREATE, &shape).map_err(|cause| explain("create", &cause))?;
        // SAFETY: BPF_MAP_CREATE has just returned this descriptor, and it is not used elsewhere.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
        Ok(Self { descriptor, shape })
    }

    /// Its descriptor, which the instructions of programs name.
    #[must_use]
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Its shape.
    #[must_use]
    pub const fn shape(&self) -> &MapShape {
        &self.shape
    }

    /// The value of this key, copied by the kernel.
    ///
    /// # Errors
    /// There is no such key, or it has another size than the map's keys.
    pub fn get(&self, key: &[u8]) -> Result<Vec<u8>, Error> {
        let mut value = vec![0; self.shape.value_size as usize];
        let address = value.as_mut_ptr() as u64;
        self.apply(BPF_MAP_LOOKUP_ELEM, key, address)
            .map_err(|cause| explain("read an entry of", &cause))?;
        Ok(value)
    }

    /// The values of all entries of an array, in order (5.6).
    ///
    /// # Errors
    /// The map is no array, or there is no memory.
    pub fn all(&self) -> Result<Vec<u8>, Error> {
        let entries = self.shape.entries as usize;
        let mut values = vec![0; entries * self.shape.value_size as usize];
        let mut keys = vec![0_u32; entries];
        let mut last = 0_u32;
        let request = Batch {
            after: 0,
            last: std::ptr::from_mut(&mut last) as u64,
            keys: keys.as_mut_ptr() as u64,
            values: values.as_mut_ptr() as u64,
            count: Cell::new(self.shape.entries),
            map: self.descriptor.as_raw_fd() as u32,
            entry_flags: 0,
            flags: 0,
        };
        call(BPF_MAP_LOOKUP_BATCH, &request)
            .map_err(|cause| explain("read all entries of", &cause))?;
        Ok(values)
    }

    /// Sets the value of this key.
    ///
    /// # Errors
    /// The map is full, or key or value have another size than the map's.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let fits = value.len() == self.shape.value_size as usize;
        let result = match fits {
            true => self.apply(BPF_MAP_UPDATE_ELEM, key, value.as_ptr() as u64),
            false => Err(io::ErrorKind::InvalidInput.into()),
        };
        result.map_err(|cause| explain("set an entry of", &cause))
    }

    /// One command on an entry; `value` is the address of `value_size` bytes.
    fn apply(&self, command: libc::c_long, key: &[u8], value: u64) -> io::Result<()> {
        if key.len() != self.shape.key_size as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let map = self.descriptor.as_raw_fd() as u32;
        let request = Entry { map, padding: 0, key: key.as_ptr() as u64, value, flags: 0 };
        call(command, &request).map(drop)
    }
}

impl AsFd for BpfMap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

pub(crate) fn explain(operation: &'static str, cause: &io::Error) -> Error {
    let error = Error::new(operation, Path::new("an eBPF map"), cause);
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => error.with_hint("it needs CAP_BPF"),
        Some(libc::ENOSYS) => error.with_hint("it needs a kernel with CONFIG_BPF_SYSCALL"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: MapShape = MapShape { kind: 1, key_size: 8, value_size: 4, entries: 1, flags: 0 };

    #[test]
    fn keys_and_values_of_another_size_reach_no_kernel() {
        // A descriptor that is no map: the kernel would answer with an errno.
        let descriptor = std::fs::File::open("/dev/null").unwrap().into();
        let map = BpfMap { descriptor, shape: HASH };
        assert_eq!(map.get(&[0; 4]).unwrap_err().errno, None);
        assert_eq!(map.set(&[0; 8], &[0; 8]).unwrap_err().errno, None);
        assert_eq!(map.set(&[0; 8], &[0; 4]).unwrap_err().errno, Some(libc::EINVAL));
    }
}
