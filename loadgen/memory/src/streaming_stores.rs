//! Loops over arrays with non-temporal stores, which bypass the caches: a line that is written
//! completely is not read first, and cached data is not evicted.
//!
//! They use the 16-byte stores of x86-64's baseline; the processor combines four of them into a line
//! before it writes, so that wider ones write no faster to memory.

/// Why non-temporal stores are not available on this processor, if so. The loops below then use
/// ordinary stores, which is not what was requested.
#[must_use]
pub fn not_available() -> Option<&'static str> {
    if cfg!(target_arch = "x86_64") {
        None
    } else {
        Some("non-temporal stores are implemented for x86-64 only")
    }
}

/// `into[i] = of(one[i], other[i])` up to the length of the shortest. Other threads see the results
/// after the next synchronisation with this one, as with ordinary stores.
#[inline]
pub fn store(into: &mut [f64], one: &[f64], other: &[f64], of: impl Fn(f64, f64) -> f64) {
    let len = into.len().min(one.len()).min(other.len());
    let (into, one, other) = (&mut into[..len], &one[..len], &other[..len]);
    let head = into.as_ptr().align_offset(LINE * size_of::<f64>()).min(len);
    plain(&mut into[..head], &one[..head], &other[..head], &of);
    let (lines, tail) = into[head..].as_chunks_mut::<LINE>();
    let ((ones, one_tail), (others, other_tail)) =
        (one[head..].as_chunks::<LINE>(), other[head..].as_chunks::<LINE>());
    for ((line, one), other) in lines.iter_mut().zip(ones).zip(others) {
        whole_line(line, one, other, &of);
    }
    plain(tail, one_tail, other_tail, &of);
    fence();
}

/// Numbers per cache line.
const LINE: usize = 8;

fn plain(into: &mut [f64], one: &[f64], other: &[f64], of: &impl Fn(f64, f64) -> f64) {
    for ((slot, one), other) in into.iter_mut().zip(one).zip(other) {
        *slot = of(*one, *other);
    }
}

/// `into` is aligned to a line.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn whole_line(
    into: &mut [f64; LINE],
    one: &[f64; LINE],
    other: &[f64; LINE],
    of: &impl Fn(f64, f64) -> f64,
) {
    use std::arch::x86_64::{_mm_set_pd, _mm_stream_pd};
    debug_assert!(into.as_ptr().addr().is_multiple_of(LINE * size_of::<f64>()));
    let (pairs, _) = into.as_chunks_mut::<2>();
    for (at, pair) in pairs.iter_mut().enumerate() {
        let (low, high) = (2 * at, 2 * at + 1);
        // SAFETY: SSE2 belongs to x86-64; `pair` is 16 bytes at a multiple of 16, since `into` is
        // aligned to a line, and is not shared. `store` ends with the fence that these stores need
        // before others may read.
        unsafe {
            let value = _mm_set_pd(of(one[high], other[high]), of(one[low], other[low]));
            _mm_stream_pd(pair.as_mut_ptr(), value);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn whole_line(
    into: &mut [f64; LINE],
    one: &[f64; LINE],
    other: &[f64; LINE],
    of: &impl Fn(f64, f64) -> f64,
) {
    plain(into, one, other, of);
}

/// Orders these stores before later ones.
#[inline(always)]
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE belongs to x86-64, and a fence touches no memory.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_stored_wherever_an_array_begins_and_ends() {
        let one: Vec<f64> = (0..100).map(f64::from).collect();
        let other: Vec<f64> = (0..100).map(|at| f64::from(at) * 0.5).collect();
        for begin in 0..9 {
            for end in begin..begin + 40 {
                let mut into = vec![-1.0; 100];
                let range = begin..end;
                store(
                    &mut into[range.clone()],
                    &one[range.clone()],
                    &other[range.clone()],
                    |one, other| one + 3.0 * other,
                );
                for (at, value) in into.iter().enumerate() {
                    let expected =
                        if range.contains(&at) { at as f64 + 1.5 * at as f64 } else { -1.0 };
                    assert_eq!(*value, expected, "{at} of {range:?}");
                }
            }
        }
    }

    #[test]
    fn the_shortest_array_sets_the_length() {
        let mut into = [0.0; 20];
        store(&mut into, &[1.0; 12], &[1.0; 17], |one, other| one + other);
        assert_eq!(into.iter().sum::<f64>(), 24.0);
    }
}
