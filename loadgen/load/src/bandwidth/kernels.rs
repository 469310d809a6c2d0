//! The four loops of STREAM (McCalpin, "Memory Bandwidth and Machine Balance in Current High
//! Performance Computers", 1995), and how many bytes each of them moves.

use std::hint::black_box;

use assay_load_memory::streaming_stores;
use clap::ValueEnum;

use crate::vectors::widest;

/// The factor of `scale` and `triad`.
pub(super) const FACTOR: f64 = 3.0;

/// One of the loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kernel {
    /// c = a
    Copy,
    /// b = 3 c
    Scale,
    /// c = a + b
    Add,
    /// a = b + 3 c
    Triad,
}

/// How results are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Stores {
    /// cached: the processor reads each line into its caches before writing to it
    Cached,
    /// non-temporal: lines bypass the caches and are written without being read
    Streaming,
}

impl Kernel {
    /// In execution order.
    pub(super) const ALL: [Self; 4] = [Self::Copy, Self::Scale, Self::Add, Self::Triad];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Scale => "scale",
            Self::Add => "add",
            Self::Triad => "triad",
        }
    }

    /// Bytes per element as STREAM counts them: 8 for each read and write that the loop names.
    pub(super) fn counted(self) -> u64 {
        match self {
            Self::Copy | Self::Scale => 16,
            Self::Add | Self::Triad => 24,
        }
    }

    /// Bytes per element between caches and memory: with cached stores the written line is read
    /// first (write-allocate).
    pub(super) fn moved(self, stores: Stores) -> u64 {
        match stores {
            Stores::Cached => self.counted() + 8,
            Stores::Streaming => self.counted(),
        }
    }

    /// Applies the loop to one element of each array, for the check.
    pub(super) fn apply(self, [a, b, c]: [f64; 3]) -> [f64; 3] {
        match self {
            Self::Copy => [a, b, a],
            Self::Scale => [a, FACTOR * c, c],
            Self::Add => [a, b, a + b],
            Self::Triad => [b + FACTOR * c, b, c],
        }
    }
}

/// One thread's part of the three arrays, all of equal length.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) a: &'a mut [f64],
    pub(super) b: &'a mut [f64],
    pub(super) c: &'a mut [f64],
}

impl Part<'_> {
    /// Runs a loop over the part.
    pub(super) fn run(&mut self, kernel: Kernel, stores: Stores) {
        let Self { a, b, c } = self;
        match (kernel, stores) {
            (Kernel::Copy, Stores::Cached) => copy(c, a),
            (Kernel::Scale, Stores::Cached) => each(b, c, c, |c, _| FACTOR * c),
            (Kernel::Add, Stores::Cached) => each(c, a, b, |a, b| a + b),
            (Kernel::Triad, Stores::Cached) => each(a, b, c, |b, c| b + FACTOR * c),
            (Kernel::Copy, Stores::Streaming) => streaming_stores::store(c, a, a, |a, _| a),
            (Kernel::Scale, Stores::Streaming) => {
                streaming_stores::store(b, c, c, |c, _| FACTOR * c);
            }
            (Kernel::Add, Stores::Streaming) => streaming_stores::store(c, a, b, |a, b| a + b),
            (Kernel::Triad, Stores::Streaming) => {
                streaming_stores::store(a, b, c, |b, c| b + FACTOR * c);
            }
        }
    }
}

/// Runs a loop with the widest vectors of this CPU.
#[inline(always)]
fn each(into: &mut [f64], one: &[f64], other: &[f64], operation: impl Fn(f64, f64) -> f64) {
    widest(
        #[inline(always)]
        || {
            for ((place, one), other) in into.iter_mut().zip(one).zip(other) {
                *place = operation(*one, *other);
            }
        },
    );
}

/// For a plain copy the compiler calls the C library, which chooses the stores itself: streaming
/// ones for arrays this large. A mask the compiler cannot know to be empty keeps the loop.
fn copy(into: &mut [f64], from: &[f64]) {
    let nothing = black_box(0_u64);
    each(into, from, from, |one, _| f64::from_bits(one.to_bits() | nothing));
}

/// Reads everything and adds it up in eight sums.
pub(super) fn read(from: &[f64]) -> f64 {
    let mut sums = [0.0_f64; 8];
    widest(
        #[inline(always)]
        || {
            for line in from.as_chunks::<8>().0 {
                for (sum, number) in sums.iter_mut().zip(line) {
                    *sum += number;
                }
            }
        },
    );
    sums.iter().sum::<f64>() + from.as_chunks::<8>().1.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_over_arrays_agree_with_the_check() {
        for stores in [Stores::Cached, Stores::Streaming] {
            for kernel in Kernel::ALL {
                let mut arrays = [vec![1.25; 1003], vec![-2.0; 1003], vec![7.5; 1003]];
                let [a, b, c] = &mut arrays;
                Part { a, b, c }.run(kernel, stores);
                let expected = kernel.apply([1.25, -2.0, 7.5]);
                for (array, number) in arrays.iter().zip(expected) {
                    assert!(array.iter().all(|actual| *actual == number), "{kernel:?} {stores:?}");
                }
            }
        }
    }

    #[test]
    fn a_copy_keeps_every_bit() {
        let from = [0.0, -0.0, f64::MIN_POSITIVE / 2.0, f64::INFINITY, 1.5];
        let mut into = [1.0; 5];
        copy(&mut into, &from);
        assert!(into.iter().zip(from).all(|(actual, bits)| actual.to_bits() == bits.to_bits()));
    }

    /// STREAM 5.10 counts 16, 16, 24, 24; with write-allocate traffic it is 24, 24, 32, 32.
    #[test]
    fn bytes_are_counted_as_stream_does_and_as_memory_moves_them() {
        assert_eq!(Kernel::ALL.map(Kernel::counted), [16, 16, 24, 24]);
        assert_eq!(Kernel::ALL.map(|kernel| kernel.moved(Stores::Cached)), [24, 24, 32, 32]);
        assert_eq!(Kernel::ALL.map(|kernel| kernel.moved(Stores::Streaming)), [16, 16, 24, 24]);
    }

    #[test]
    fn a_read_covers_every_element_once() {
        let numbers: Vec<f64> = (0..1003).map(f64::from).collect();
        assert_eq!(read(&numbers), 1002.0 * 1003.0 / 2.0);
    }
}
