//! The types of the running kernel, from /sys/kernel/btf/vmlinux (Documentation/bpf/btf.rst): the
//! offset of a field in its structure, and the BTF id of a function. With it our programs find the
//! fields of a task on any kernel, without headers and without a compiler.

use std::path::Path;

use crate::bpf_iterator::TYPES;
use crate::error::Error;
use crate::root::Root;

/// A parsed BTF table.
pub(crate) struct Btf<'b> {
    types: &'b [u8],
    names: &'b [u8],
    /// Offset of each type's description in `types`; type 0 is `void` and has none.
    offsets: Vec<usize>,
}

/// The location of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Bytes from the start of the outermost structure.
    pub(crate) offset: u32,
    /// The id of its type.
    pub(crate) kind: u32,
}

const MAGIC: u16 = 0xeb9f;
/// Size of `struct btf_type`.
const HEAD: usize = 12;
/// Size of `struct btf_member`.
const MEMBER: usize = 12;

const STRUCT: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const RESTRICT: u32 = 11;
const ENUM: u32 = 6;
const FUNC: u32 = 12;
const TYPE_TAG: u32 = 18;
const POINTER: u32 = 2;

/// The error for a type, field or function that the running kernel's table lacks.
pub(crate) fn lacks(what: &str) -> Error {
    Error::unexpected("find", Path::new(TYPES), format!("it has no {what}"))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Size of the data after the header of a type of this kind with `parts` parts.
fn tail(kind: u32, parts: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,
        3 => 12,
        STRUCT | UNION | 15 | 19 => parts * MEMBER,
        6 | 13 => parts * 8,
        POINTER | 7..=12 | 16 | TYPE_TAG => 0,
        _ => return None,
    })
}

impl<'b> Btf<'b> {
    /// The table of the running kernel, read into `buffer`. Fails if the kernel has none
    /// (CONFIG_DEBUG_INFO_BTF), or one that [`Btf::parse`] does not support.
    pub(crate) fn read(root: &Root, buffer: &'b mut Vec<u8>) -> Result<Self, Error> {
        let types = Path::new(TYPES);
        let file = root.open_reread(types)?;
        let bytes = file.read(buffer).map_err(|cause| Error::new("read", types, &cause))?;
        Self::parse(bytes).ok_or_else(|| lacks("type table in a supported format"))
    }

    /// Parses the table; `None` if it is not one, or contains unknown kinds of types.
    pub(crate) fn parse(bytes: &'b [u8]) -> Option<Self> {
        let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        if magic != MAGIC {
            return None;
        }
        let [head, types_at, types_len, names_at, names_len] =
            [4, 8, 12, 16, 20].map(|at| word(bytes, at).map(|word| word as usize));
        let part = |at: usize, len: usize| {
            let start = head?.checked_add(at)?;
            bytes.get(start..start.checked_add(len)?)
        };
        let types = part(types_at?, types_len?)?;
        let names = part(names_at?, names_len?)?;
        let mut offsets = vec![0];
        let mut at = 0;
        while at < types.len() {
            offsets.push(at);
            let info = word(types, at + 4)?;
            at += HEAD + tail(info >> 24 & 0x1f, (info & 0xffff) as usize)?;
        }
        Some(Self { types, names, offsets })
    }

    fn name(&self, at: u32) -> &'b [u8] {
        let rest = self.names.get(at as usize..).unwrap_or_default();
        rest.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Kind, number of parts and `size_or_type` of a type, and the offset of its parts.
    fn head(&self, kind: u32) -> Option<(u32, usize, u32, usize)> {
        let at = *self.offsets.get(kind as usize).filter(|_| kind > 0)?;
        let info = word(self.types, at + 4)?;
        let size = word(self.types, at + 8)?;
        Some((info >> 24 & 0x1f, (info & 0xffff) as usize, size, at + HEAD))
    }

    fn find(&self, kind_to_find: u32, name: &str) -> Option<u32> {
        (1..self.offsets.len() as u32).find(|kind| {
            let at = self.offsets[*kind as usize];
            let is = word(self.types, at + 4).is_some_and(|info| info >> 24 & 0x1f == kind_to_find);
            is && word(self.types, at).is_some_and(|at| self.name(at) == name.as_bytes())
        })
    }

    /// The id of the function of this name.
    pub(crate) fn function(&self, name: &str) -> Option<u32> {
        self.find(FUNC, name)
    }

    /// The id of the structure of this name.
    pub(crate) fn structure(&self, name: &str) -> Option<u32> {
        self.find(STRUCT, name)
    }

    /// The value of an enumerator.
    pub(crate) fn constant(&self, name: &str) -> Option<i32> {
        (1..self.offsets.len() as u32).find_map(|kind| {
            let (_, parts, _, at) =
                self.head(kind).filter(|(entry_kind, ..)| *entry_kind == ENUM)?;
            (0..parts).map(|part| at + part * 8).find_map(|at| {
                let is = self.name(word(self.types, at)?) == name.as_bytes();
                if is { word(self.types, at + 4).map(|value| value as i32) } else { None }
            })
        })
    }

    /// A field by its path, `se.sum_exec_runtime`; anonymous members are searched.
    pub(crate) fn field(&self, structure: u32, path: &str) -> Option<Field> {
        let mut field = Field { offset: 0, kind: structure };
        for name in path.split('.') {
            let inner = self.member(self.plain(field.kind)?, name.as_bytes(), 0)?;
            field = Field { offset: field.offset + inner.offset, kind: inner.kind };
        }
        Some(field)
    }

    /// The type without typedefs and qualifiers.
    fn plain(&self, mut kind: u32) -> Option<u32> {
        for _ in 0..32 {
            let (qualifier, _, inner, _) = self.head(kind)?;
            if !(TYPEDEF..=RESTRICT).contains(&qualifier) && qualifier != TYPE_TAG {
                return Some(kind);
            }
            kind = inner;
        }
        None
    }

    fn member(&self, structure: u32, name: &[u8], depth: u32) -> Option<Field> {
        let (kind, parts, _, at) = self.head(structure)?;
        if !(kind == STRUCT || kind == UNION) || depth > 8 {
            return None;
        }
        (0..parts).find_map(|part| {
            let at = at + part * MEMBER;
            let member_name = self.name(word(self.types, at)?);
            // With bit fields the upper bits hold the width; none of the fields we need is one.
            let offset = (word(self.types, at + 8)? & 0x00ff_ffff) / 8;
            let kind = word(self.types, at + 4)?;
            if member_name == name {
                return Some(Field { offset, kind });
            }
            let inner = member_name.is_empty().then(|| self.plain(kind)).flatten()?;
            let nested = self.member(inner, name, depth + 1)?;
            Some(Field { offset: offset + nested.offset, ..nested })
        })
    }

    /// Size of a type in bytes; `None` if it has no size of its own.
    pub(crate) fn size(&self, kind: u32) -> Option<u32> {
        let (kind, _, size, _) = self.head(self.plain(kind)?)?;
        match kind {
            POINTER => Some(8),
            1 | STRUCT | UNION | 6 | 16 | 19 => Some(size),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct in { u32 x; u64 y; }`, `struct out { u64 a; struct { in b; }; }`, `fn f`.
    fn table() -> Vec<u8> {
        let names = b"\0u32\0u64\0in\0x\0y\0out\0a\0b\0f\0";
        let at = |name: &str| {
            let terminated: Vec<u8> = [b"\0", name.as_bytes(), b"\0"].concat();
            names.windows(terminated.len()).position(|window| window == terminated).unwrap() as u32
                + 1
        };
        let mut types: Vec<u32> = Vec::new();
        types.extend([at("u32"), 1 << 24, 4, 32]);
        types.extend([at("u64"), 1 << 24, 8, 64]);
        types.extend([at("in"), STRUCT << 24 | 2, 16, at("x"), 1, 0, at("y"), 2, 64]);
        types.extend([0, STRUCT << 24 | 1, 16, at("b"), 3, 0]);
        types.extend([at("out"), STRUCT << 24 | 2, 24, at("a"), 2, 0, 0, 4, 64]);
        types.extend([at("f"), FUNC << 24, 0]);
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        for word in [24, 0, types.len() as u32, types.len() as u32, names.len() as u32] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(&types);
        bytes.extend(names);
        bytes
    }

    #[test]
    fn fields_are_found_in_named_and_anonymous_structures() {
        let bytes = table();
        let btf = Btf::parse(&bytes).unwrap();
        let out = btf.structure("out").unwrap();
        assert_eq!(btf.field(out, "a"), Some(Field { offset: 0, kind: 2 }));
        assert_eq!(btf.field(out, "b.y"), Some(Field { offset: 16, kind: 2 }));
        assert_eq!(btf.size(btf.field(out, "b.x").unwrap().kind), Some(4));
        assert_eq!(btf.field(out, "c"), None);
        assert_eq!((btf.function("f"), btf.function("out")), (Some(6), None));
    }

    #[test]
    fn a_truncated_or_foreign_table_is_rejected() {
        let bytes = table();
        for end in 0..bytes.len() {
            assert!(Btf::parse(&bytes[..end]).is_none(), "{end} bytes");
        }
        assert!(Btf::parse(b"ELF and more than twenty bytes").is_none());
    }
}
