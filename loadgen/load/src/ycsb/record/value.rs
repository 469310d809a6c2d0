//! Values of fields: random printable bytes, or bytes derived from key and field.

use crate::ycsb::hash::java_step;
use crate::ycsb::random::Random;

/// Appends `length` random bytes like YCSB's `RandomByteIterator`: six from 32 random bits, by
/// masks, so that each is printable.
pub(in crate::ycsb) fn fill(length: usize, random: &mut Random, into: &mut Vec<u8>) {
    let from = into.len();
    into.resize(from + length, 0);
    let mut groups = into[from..].chunks_exact_mut(6);
    for group in &mut groups {
        group.copy_from_slice(&six(random.bits() as u32));
    }
    let rest = groups.into_remainder();
    let count = rest.len();
    if count > 0 {
        rest.copy_from_slice(&six(random.bits() as u32)[..count]);
    }
}

/// The last mask reaches the sign bit but nothing beyond it, so that arithmetic shifts, as in Java,
/// and logical ones give the same result.
fn six(bits: u32) -> [u8; 6] {
    let part = |shift: u32, mask: u32| ((bits >> shift & mask) + 32) as u8;
    [part(0, 31), part(5, 63), part(10, 95), part(15, 31), part(20, 63), part(25, 95)]
}

/// Appends the value for `dataintegrity`: key, `:`, field, then repeatedly `:` and the Java hash
/// code of everything so far, truncated to `length`.
pub(in crate::ycsb) fn integrity(key: &[u8], field: &str, length: usize, into: &mut Vec<u8>) {
    let from = into.len();
    let mut hash = 0;
    let mut put = |into: &mut Vec<u8>, bytes: &[u8]| {
        into.extend_from_slice(bytes);
        hash = bytes.iter().fold(hash, |hash, byte| java_step(hash, u16::from(*byte)));
        hash
    };
    put(into, key);
    put(into, b":");
    put(into, field.as_bytes());
    while into.len() - from < length {
        let code = put(into, b":");
        put(into, code.to_string().as_bytes());
    }
    into.truncate(from + length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_bytes_come_from_one_draw_by_masks() {
        assert_eq!(six(0), [32; 6]);
        assert_eq!(six(u32::MAX), [63, 95, 127, 63, 95, 127]);
        assert_eq!(six(1 | 1 << 5 | 1 << 14), [33, 33, 48, 32, 32, 32]);
    }

    #[test]
    fn random_values_have_their_length_and_are_printable() {
        let mut random = Random::new(1, 0);
        for length in [0, 1, 5, 6, 7, 100] {
            let mut value = b"x".to_vec();
            fill(length, &mut random, &mut value);
            assert_eq!(value.len(), length + 1);
            assert!(value[1..].iter().all(|byte| (32..128).contains(byte)), "{value:?}");
        }
    }
}
