//! Has a field that a program reads still the type with which the program was compiled?
//!
//! CO-RE finds the offset of a field by its name and its kind of type. To it all pointers are one kind (`bpf_core_fields_are_compat`,
//! tools/lib/bpf/relo_core.c), so that a field that became a pointer to something else is read as what it was. Linux 7.2 made an array
//! of pointers (`task_group.cfs_rq`) the address of a per-CPU structure. Tags (`__percpu`) are not compared: kernels built by GCC lack
//! them.

use super::{ARRAY, FORWARD, INT, MAX_DEPTH, POINTER, STRUCT, Type, Types, UNION, is_record, word};

/// A field whose type is another one than a program was compiled for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedField {
    /// The structure and its field.
    pub field: String,
    /// What the program reads.
    pub compiled: String,
    /// What the kernel has.
    pub found: String,
}

/// A field, by its name if it has one, and the number of its type.
struct Field<'b> {
    name: &'b str,
    number: u32,
}

impl<'b> Types<'b> {
    /// The first field on the way of an access (`0:1:2`: of the array's first structure the second field, of that the third) that
    /// every structure of this name in `kernel` has with another type. What `kernel` lacks, or has as another kind, CO-RE notices.
    #[must_use]
    pub fn changed(&self, structure: u32, access: &str, kernel: &Self) -> Option<ChangedField> {
        let of = self.plain(structure).filter(is_record)?;
        let way = self.way(of, access)?;
        let mut candidates = kernel.all_named(self.own_name(of)?);
        let first = candidates.next().and_then(|one| self.differs(of, &way, one, kernel))?;
        let is_changed = |one| self.differs(of, &way, one, kernel).is_some();
        candidates.all(is_changed).then_some(first)
    }

    /// The fields of an access; elements of arrays are none.
    fn way(&self, of: Type<'b>, access: &str) -> Option<Vec<Field<'b>>> {
        let (mut at, mut way) = (of, Vec::new());
        for index in access.split(':').skip(1).map(str::parse::<usize>) {
            let number = if at.kind == ARRAY {
                word(at.rest, 0)?
            } else {
                let member = at.rest.chunks_exact(12).nth(index.ok()?)?;
                let number = word(member, 4)?;
                way.push(Field { name: self.string(word(member, 0)?)?, number });
                number
            };
            at = self.plain(number)?;
        }
        Some(way)
    }

    fn differs(
        &self,
        of: Type<'b>,
        way: &[Field<'b>],
        candidate: Type<'_>,
        kernel: &Types<'_>,
    ) -> Option<ChangedField> {
        let (mut owner, mut at) = (self.own_name(of)?, candidate);
        for field in way.iter().filter(|field| !field.name.is_empty()) {
            let found = kernel.member(at, field.name, 0)?;
            if !self.is_same(field.number, found, kernel, MAX_DEPTH) {
                return Some(ChangedField {
                    field: format!("{owner}.{}", field.name),
                    compiled: self.words(field.number, MAX_DEPTH),
                    found: kernel.words(found, MAX_DEPTH),
                });
            }
            owner = field.name;
            at = kernel.element(found)?;
        }
        None
    }

    /// The number of the type of a member, of one in an anonymous structure too.
    fn member(&self, of: Type<'b>, name: &str, depth: usize) -> Option<u32> {
        of.rest.chunks_exact(12).find_map(|one| {
            let (found, number) = (self.string(word(one, 0)?)?, word(one, 4)?);
            if found == name {
                return Some(number);
            }
            let inner = self.plain(number).filter(is_record)?;
            let is_inside = found.is_empty() && depth < MAX_DEPTH;
            is_inside.then(|| self.member(inner, name, depth + 1)).flatten()
        })
    }

    /// The type, or that of an array's elements.
    fn element(&self, number: u32) -> Option<Type<'b>> {
        let one = self.plain(number)?;
        if one.kind == ARRAY { self.plain(word(one.rest, 0)?) } else { Some(one) }
    }

    /// Whether a field is what it was, as far as CO-RE does not look. Numbers may have another size: loads are fitted.
    fn is_same(&self, own: u32, other: u32, kernel: &Types<'_>, depth: usize) -> bool {
        let (Some(a), Some(b)) = (self.plain(own), kernel.plain(other)) else { return true };
        match (a.kind, b.kind) {
            (POINTER, POINTER) => self.is_same_target(a.size, b.size, kernel, depth),
            (ARRAY, ARRAY) => match (word(a.rest, 0), word(b.rest, 0)) {
                (Some(own), Some(other)) if depth > 0 => {
                    self.is_same(own, other, kernel, depth - 1)
                }
                _ => true,
            },
            (STRUCT | UNION, STRUCT | UNION) => self.has_name_of(a, b, kernel),
            _ => true,
        }
    }

    /// Whether two pointers lead to the same. One to `void` leads to anything.
    fn is_same_target(&self, own: u32, other: u32, kernel: &Types<'_>, depth: usize) -> bool {
        let (Some(a), Some(b)) = (self.plain(own), kernel.plain(other)) else { return true };
        match (a.kind, b.kind) {
            (STRUCT | UNION | FORWARD, STRUCT | UNION | FORWARD) => self.has_name_of(a, b, kernel),
            (INT, INT) => a.size == b.size,
            (a, b) if a != b => false,
            _ => depth == 0 || self.is_same(own, other, kernel, depth - 1),
        }
    }

    fn has_name_of(&self, own: Type<'_>, other: Type<'_>, kernel: &Types<'_>) -> bool {
        let (a, b) = (self.own_name(own).unwrap_or(""), kernel.string(other.name).unwrap_or(""));
        a.is_empty() || b.is_empty() || a == b
    }

    /// The name of a structure without what tells variants of it apart (`task_struct___old`).
    fn own_name(&self, one: Type<'_>) -> Option<&'b str> {
        Some(self.string(one.name)?.split("___").next().unwrap_or_default())
    }

    /// A type as C writes it.
    fn words(&self, number: u32, depth: usize) -> String {
        let Some(one) = self.plain(number).filter(|_| depth > 0) else { return "void".to_owned() };
        let inner = || self.words(one.size, depth - 1);
        match one.kind {
            POINTER => format!("{} *", inner()).replace("* *", "**"),
            ARRAY => format!("{}[]", self.words(word(one.rest, 0).unwrap_or(0), depth - 1)),
            STRUCT | FORWARD => format!("struct {}", self.own_name(one).unwrap_or_default()),
            UNION => format!("union {}", self.own_name(one).unwrap_or_default()),
            _ => self.string(one.name).unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types with `struct task_group { struct cfs_rq first; struct cfs_rq **cfs_rq; }`, of whose pointers one is left out: as before and since
    /// Linux 7.2. Numbers: 1 `unsigned int`, 2 `struct cfs_rq`, 3 a pointer to it, 4 a pointer to that, 5 `struct task_group`.
    fn bytes(name: &str, cfs_rq: u32, inner: &str) -> Vec<u8> {
        let strings = format!("\0{name}\0cfs_rq\0{inner}\0unsigned int\0");
        let at = |text: &str| strings.find(&format!("\0{text}\0")).unwrap() as u32 + 1;
        let mut types = vec![at("unsigned int"), INT << 24, 4, 32];
        types.extend([at(inner), STRUCT << 24 | 1, 4, at(inner), 1, 0]);
        types.extend([0, POINTER << 24, 2, 0, POINTER << 24, 3]);
        types.extend([at(name), STRUCT << 24 | 2, 16, at(name), 2, 0, at("cfs_rq"), cfs_rq, 32]);
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut bytes = super::super::MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0]);
        let length = types.len() as u32;
        for word in [24, 0, length, length, strings.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        [bytes, types, strings.into_bytes()].concat()
    }

    fn changed(access: &str, own: &[u8], kernel: &[u8]) -> Option<ChangedField> {
        let [own, kernel] = [own, kernel].map(|bytes| Types::parse(bytes).unwrap());
        own.changed(5, access, &kernel)
    }

    #[test]
    fn a_pointer_that_leads_to_something_else_is_a_changed_field() {
        let own = bytes("task_group", 4, "cfs_rq");
        assert_eq!(changed("0:1", &own, &own), None);
        // As Linux 7.2 has it.
        let since = bytes("task_group", 3, "cfs_rq");
        let changed_field = changed("0:1", &own, &since).unwrap();
        assert_eq!(changed_field.field, "task_group.cfs_rq");
        assert_eq!(changed_field.compiled, "struct cfs_rq **");
        assert_eq!(changed_field.found, "struct cfs_rq *");
        // A variant of the program's own has the same name to the kernel.
        let variant = bytes("task_group___since", 3, "cfs_rq");
        assert_eq!(changed("0:1", &variant, &since), None);
        assert!(changed("0:1", &variant, &own).is_some());
        // Other structures of the kernel, other fields, and a number.
        let other = bytes("group", 3, "cfs_rq");
        assert_eq!(changed("0:1", &own, &other), None);
        assert_eq!(changed("0:0:0", &own, &since), None);
        assert_eq!(changed("0:1", &own, &bytes("task_group", 1, "cfs_rq")), None);
    }

    #[test]
    fn damaged_accesses_and_types_change_nothing() {
        let own = bytes("task_group", 4, "cfs_rq");
        for access in ["", "0", "0:7", "0:x", "0:0:0:0"] {
            assert_eq!(changed(access, &own, &own), None, "{access}");
        }
        for at in 0..own.len() {
            let mut other = own.clone();
            other[at] ^= 0xff;
            if let (Some(types), Some(whole)) = (Types::parse(&other), Types::parse(&own)) {
                let _ = (types.changed(5, "0:1", &whole), whole.changed(5, "0:1", &types));
            }
        }
    }
}
