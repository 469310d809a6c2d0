//! Hash functions of YCSB and Java: the key of a record, and the iteration order of Java's hash
//! maps, which determines the layout of a record and the order of the output.

/// 64-bit FNV-1a as computed by YCSB (`Utils.fnvhash64`): over the eight octets of `value`, lowest
/// first, with the absolute value at the end.
pub(super) fn fnv64(value: u64) -> u64 {
    let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
    for octet in value.to_le_bytes() {
        hash ^= u64::from(octet);
        hash = hash.wrapping_mul(1_099_511_628_211);
    }
    (hash as i64).unsigned_abs()
}

/// `String.hashCode` of Java, over UTF-16 units.
pub(super) fn java_string(text: &str) -> i32 {
    text.encode_utf16().fold(0, java_step)
}

/// One step of [`java_string`], for text that grows.
pub(super) fn java_step(hash: i32, unit: u16) -> i32 {
    hash.wrapping_mul(31).wrapping_add(i32::from(unit))
}

/// The iteration order of a `java.util.HashMap` of default size with these distinct keys, inserted
/// in this order: by slot, and within a slot by insertion.
pub(super) fn map_order(keys: &[&str]) -> Vec<usize> {
    // A map doubles when an entry is inserted beyond three quarters of its size.
    let mut slots = 16;
    while keys.len() * 4 > slots * 3 {
        slots *= 2;
    }
    by_slot(keys.iter().map(|key| java_string(key)), slots)
}

/// The same for a `ConcurrentHashMap`, by the hash codes of its keys: it doubles when three
/// quarters are reached.
pub(super) fn concurrent_map_order(codes: &[i32]) -> Vec<usize> {
    let mut slots = 16;
    while codes.len() * 4 >= slots * 3 {
        slots *= 2;
    }
    by_slot(codes.iter().copied(), slots)
}

fn by_slot(codes: impl Iterator<Item = i32>, slots: usize) -> Vec<usize> {
    let slot = |code: i32| {
        let code = code as u32;
        (code ^ (code >> 16)) as usize & (slots - 1)
    };
    let mut order: Vec<(usize, usize)> =
        codes.enumerate().map(|(index, code)| (slot(code), index)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hashed_as_ycsb_does() {
        for (number, hash) in [
            (0, 6_284_781_860_667_377_211),
            (1, 8_517_097_267_634_966_620),
            (2, 1_820_151_046_732_198_393),
            (10, 2_408_371_864_701_034_737),
            (999, 2_071_219_101_098_386_137),
            (1_000_000, 1_011_632_231_655_643_464),
            (9_999_999_999, 3_605_131_173_811_637_474),
        ] {
            assert_eq!(fnv64(number), hash, "fnv64({number})");
        }
    }

    #[test]
    fn ten_fields_have_the_order_of_a_java_hash_map() {
        let names: Vec<String> = (0..10).map(|field| format!("field{field}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(map_order(&names), [1, 0, 7, 6, 9, 8, 3, 2, 5, 4]);
    }

    #[test]
    fn strings_are_hashed_as_java_does() {
        assert_eq!(java_string(""), 0);
        assert_eq!(java_string("READ"), 2_511_254);
        assert_eq!(java_string("field0"), -1_274_708_362, "it overflows");
    }

    #[test]
    fn measurements_have_the_order_of_ycsb() {
        // Printed by YCSB 0.17.0 on the reads and writes of workload F.
        let names = ["READ", "UPDATE", "READ-MODIFY-WRITE", "CLEANUP"];
        let codes: Vec<i32> = names.iter().map(|name| java_string(name)).collect();
        let order: Vec<&str> =
            concurrent_map_order(&codes).into_iter().map(|index| names[index]).collect();
        assert_eq!(order, ["READ", "READ-MODIFY-WRITE", "CLEANUP", "UPDATE"]);
    }
}
