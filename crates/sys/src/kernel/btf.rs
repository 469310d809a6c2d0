//! Where the running kernel keeps members of its structures, by its own types (BTF; Documentation/bpf/btf.rst).

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::kernel::{Error, Root};

mod compare;

pub use compare::ChangedField;

/// The kernel's types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;

/// Kinds of types (linux/btf.h).
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const FORWARD: u32 = 7;
/// Names, and qualifiers: `typedef`, `volatile`, `const`, `restrict`, tags of types.
const NAMES: [u32; 5] = [8, 9, 10, 11, 18];

/// Anonymous structures and unions inside each other that are followed.
const MAX_DEPTH: usize = 8;

/// Those of the running kernel, which stay the same as long as it runs: the file has megabytes and is read in pieces of 4 KiB.
static OF_KERNEL: OnceLock<Arc<[u8]>> = OnceLock::new();

/// The kernel's types as it gives them.
///
/// # Errors
/// It has none.
pub fn read(root: &Root) -> Result<Arc<[u8]>, Error> {
    if let Some(known) = OF_KERNEL.get().filter(|_| root.is_real()) {
        return Ok(known.clone());
    }
    let hint = "it needs a kernel with CONFIG_DEBUG_INFO_BTF";
    let file = root.open_reread(TYPES).map_err(|error| error.with_hint(hint))?;
    let mut buffer = Vec::new();
    let bytes =
        file.read(&mut buffer).map_err(|cause| Error::new("read", Path::new(TYPES), &cause))?;
    let bytes: Arc<[u8]> = bytes.into();
    Ok(if root.is_real() { OF_KERNEL.get_or_init(|| bytes).clone() } else { bytes })
}

/// Offsets in bits of these members of a structure, of members of anonymous unions and structures inside it too; `None`
/// for one that it lacks.
///
/// # Errors
/// The kernel has no types, or none of this name.
pub fn member_offsets<const N: usize>(
    root: &Root,
    structure: &str,
    members: [&str; N],
) -> Result<[Option<u32>; N], Error> {
    let bytes = read(root)?;
    let wrong = || {
        let why = format!("it has no structure {structure}");
        Error::unexpected("read the types in", Path::new(TYPES), why)
    };
    let types = Types::parse(&bytes).ok_or_else(wrong)?;
    let found = types.named(structure).ok_or_else(wrong)?;
    Ok(members.map(|member| types.offset(found, member, 0)))
}

/// The types, in the order of their numbers, which begin at 1.
#[derive(Debug)]
pub struct Types<'b> {
    types: Vec<Type<'b>>,
    strings: &'b [u8],
}

#[derive(Debug, Clone, Copy)]
struct Type<'b> {
    name: u32,
    kind: u32,
    /// Its size or, of what has none, the type that it refers to.
    size: u32,
    /// Whether offsets of members share their word with sizes.
    has_sizes: bool,
    /// What follows the head: for structures 12 bytes for each member.
    rest: &'b [u8],
}

impl<'b> Types<'b> {
    /// `None` if they are damaged, or of a kind that is not known.
    #[must_use]
    pub fn parse(bytes: &'b [u8]) -> Option<Self> {
        if u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let part = |at: usize| {
            let start = word(bytes, 4)?.checked_add(word(bytes, at)?)? as usize;
            bytes.get(start..start.checked_add(word(bytes, at + 4)? as usize)?)
        };
        let (mut left, strings) = (part(8)?, part(16)?);
        let mut types = Vec::new();
        while !left.is_empty() {
            let (name, info, size) = (word(left, 0)?, word(left, 4)?, word(left, 8)?);
            let (kind, count) = ((info >> 24) & 0x1f, (info & 0xffff) as usize);
            let (rest, next) = left.get(12..)?.split_at_checked(length(kind, count)?)?;
            types.push(Type { name, kind, size, has_sizes: info >> 31 == 1, rest });
            left = next;
        }
        Some(Self { types, strings })
    }

    fn named(&self, name: &str) -> Option<Type<'b>> {
        self.all_named(name).find(|one| one.kind == STRUCT)
    }

    /// Structures and unions of this name.
    fn all_named(&self, name: &str) -> impl Iterator<Item = Type<'b>> {
        let is_it = move |one: &&Type<'_>| is_record(one) && self.is_name(one.name, name);
        self.types.iter().filter(is_it).copied()
    }

    /// The type with this number behind its names and qualifiers; `None` is `void`.
    fn plain(&self, number: u32) -> Option<Type<'b>> {
        let mut one = *self.types.get((number as usize).checked_sub(1)?)?;
        for _ in 0..MAX_DEPTH {
            if !NAMES.contains(&one.kind) {
                return Some(one);
            }
            one = *self.types.get((one.size as usize).checked_sub(1)?)?;
        }
        None
    }

    /// Without the length of each string: a kernel has a hundred thousand types.
    fn is_name(&self, at: u32, name: &str) -> bool {
        let text = self.strings.get(at as usize..);
        let rest = text.and_then(|text| text.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    fn string(&self, at: u32) -> Option<&'b str> {
        let text = self.strings.get(at as usize..)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&text[..end]).ok()
    }

    fn offset(&self, of: Type<'b>, member: &str, depth: usize) -> Option<u32> {
        let mut members = of.rest.chunks_exact(12).filter_map(|one| {
            let (name, number, offset) = (word(one, 0)?, word(one, 4)?, word(one, 8)?);
            let offset = if of.has_sizes { offset & 0x00ff_ffff } else { offset };
            Some((self.string(name)?, number, offset))
        });
        members.find_map(|(name, number, offset)| {
            if name == member {
                return Some(offset);
            }
            let inner = self.types.get((number as usize).checked_sub(1)?).copied()?;
            let is_inside = name.is_empty() && is_record(&inner) && depth < MAX_DEPTH;
            is_inside.then(|| self.offset(inner, member, depth + 1)).flatten()?.checked_add(offset)
        })
    }
}

fn is_record(one: &Type<'_>) -> bool {
    one.kind == STRUCT || one.kind == UNION
}

/// Bytes after the head of a type; `None` for a kind that is not known, whose length is not either.
fn length(kind: u32, count: usize) -> Option<usize> {
    match kind {
        // Integers, variables, tags of declarations.
        1 | 14 | 17 => Some(4),
        // Arrays.
        3 => Some(12),
        STRUCT | UNION | 15 | 19 => count.checked_mul(12),
        // Enumerations, parameters of functions.
        6 | 13 => count.checked_mul(8),
        // Pointers, forward declarations, names, qualifiers, functions, floats, tags of types.
        2 | 7..=12 | 16 | 18 => Some(0),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct s { int a; union { int b; int c; }; int d; }`
    fn example() -> Vec<u8> {
        let strings = b"\0s\0a\0b\0c\0d\0int\0";
        let mut types: Vec<u32> = vec![11, 1 << 24, 4, 32];
        types.extend([0, 5 << 24 | 2, 4, 5, 1, 0, 7, 1, 0]);
        types.extend([1, 4 << 24 | 3, 12, 3, 1, 0, 0, 2, 32, 9, 1, 64]);
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0]);
        for word in [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        [bytes, types, strings.to_vec()].concat()
    }

    fn of(bytes: &[u8], members: [&str; 4]) -> Option<[Option<u32>; 4]> {
        let types = Types::parse(bytes)?;
        let found = types.named("s")?;
        Some(members.map(|member| types.offset(found, member, 0)))
    }

    #[test]
    fn members_of_an_anonymous_union_share_their_place() {
        let offsets = of(&example(), ["a", "b", "c", "e"]).unwrap();
        assert_eq!(offsets, [Some(0), Some(32), Some(32), None]);
        assert_eq!(of(&example(), ["d"; 4]).unwrap(), [Some(64); 4]);
    }

    #[test]
    fn damaged_types_are_refused_and_never_panic() {
        let whole = example();
        for end in 0..whole.len() {
            let _ = of(&whole[..end], ["a"; 4]);
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0xff;
            let _ = of(&changed, ["b"; 4]);
        }
    }

    #[test]
    fn the_running_kernel_s_own_task_has_its_number() {
        let Ok(offsets) = member_offsets(&Root::real(), "task_struct", ["pid", "no_such"]) else {
            return;
        };
        assert!(offsets[0].is_some_and(|offset| offset > 0) && offsets[1].is_none());
    }
}
