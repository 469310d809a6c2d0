//! Fields that an object reads, and whether the kernel still has them with the types for which it was compiled.

use assay_sys::kernel::btf::{ChangedField, Types};

/// `BPF_CORE_FIELD_BYTE_OFFSET` (linux/bpf.h): the field is read, or its address taken.
const READ: u32 = 0;

/// A record of `struct bpf_core_relo`.
const RECORD: usize = 16;

/// The first field that the programs would read as something else than the kernel has; `None` if all are as they were, or either
/// has no types.
pub(crate) fn changed(object: &[u8], kernel: &[u8]) -> Option<ChangedField> {
    let own = section(object, ".BTF")?;
    let (types, kernel) = (Types::parse(own)?, Types::parse(kernel)?);
    let string = |at: u32| {
        let text =
            own.get((word(own, 4)?.checked_add(word(own, 16)?)?.checked_add(at)?) as usize..)?;
        std::str::from_utf8(text.split(|byte| *byte == 0).next()?).ok()
    };
    let mut accesses = accesses(section(object, ".BTF.ext")?)?;
    accesses.sort_unstable();
    accesses.dedup();
    accesses
        .into_iter()
        .find_map(|(number, access)| types.changed(number, string(access)?, &kernel))
}

/// The structure, and the name of the access in the strings, of each field that is read.
fn accesses(extension: &[u8]) -> Option<Vec<(u32, u32)>> {
    let start = word(extension, 4)?.checked_add(word(extension, 24)?)? as usize;
    let records = extension.get(start..start.checked_add(word(extension, 28)? as usize)?)?;
    // The size of a record; then for each section of the object its name and number of records.
    let mut left = records.get(4..)?;
    let mut all = Vec::new();
    while let Some(count) = word(left, 4) {
        let (these, rest) = left.get(8..)?.split_at_checked(RECORD.checked_mul(count as usize)?)?;
        let these = these.chunks_exact(RECORD).filter(|one| word(one, 12) == Some(READ));
        all.extend(these.filter_map(|one| Some((word(one, 4)?, word(one, 8)?))));
        left = rest;
    }
    Some(all)
}

/// A section of an object, which is an ELF file of 64 bits.
fn section<'e>(elf: &'e [u8], name: &str) -> Option<&'e [u8]> {
    let table = long(elf, 40)?;
    let [size, count, names] = [58, 60, 62].map(|at| half(elf, at));
    let head = |number: usize| elf.get(number.checked_mul(size?)?.checked_add(table)?..);
    let contents = |head: &[u8]| {
        let start = long(head, 24)?;
        elf.get(start..start.checked_add(long(head, 32)?)?)
    };
    let names = contents(head(names?)?)?;
    let found = (0..count?).filter_map(head).find(|head| {
        let own = word(head, 0).and_then(|at| names.get(at as usize..));
        own.is_some_and(|own| own.split(|byte| *byte == 0).next() == Some(name.as_bytes()))
    });
    contents(found?)
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..)?.first_chunk().copied()
}

fn half(from: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(bytes(from, at)?).into())
}

fn word(from: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes(from, at)?))
}

fn long(from: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes(from, at)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BFQ, BLAME, CONTENDED, DISK};

    /// The types of an object, in which all pointers to a structure of this name lead to another one.
    fn with_other(object: &[u8], name: &str) -> Vec<u8> {
        let mut types = section(object, ".BTF").unwrap().to_vec();
        let text = format!("\0{name}\0").into_bytes();
        let at = types.windows(text.len()).position(|one| one == text).unwrap();
        types[at + 1] = b'_';
        types
    }

    #[test]
    fn objects_read_what_they_were_compiled_for() {
        for object in [BLAME, CONTENDED, DISK, BFQ] {
            let own = section(object, ".BTF").unwrap();
            assert_eq!(changed(object, own), None);
            assert!(accesses(section(object, ".BTF.ext").unwrap()).unwrap().len() > 10);
        }
    }

    #[test]
    fn a_field_that_leads_elsewhere_is_named_with_both_types() {
        let found = changed(CONTENDED, &with_other(CONTENDED, "load_weight")).unwrap();
        assert_eq!(found.field, "sched_entity.load");
        assert_eq!(found.compiled, "struct load_weight");
        assert_eq!(found.found, "struct _oad_weight");
    }

    #[test]
    fn damaged_objects_have_no_changed_field() {
        let own = section(BLAME, ".BTF").unwrap();
        for end in (0..BLAME.len()).step_by(97) {
            assert_eq!(changed(&BLAME[..end], own), None);
            assert_eq!(changed(BLAME, &own[..end.min(own.len() - 1)]), None);
        }
    }
}
