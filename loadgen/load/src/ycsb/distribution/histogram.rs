//! Lengths from a histogram file: `BlockSize<TAB>n`, then `bucket<TAB>count` from 0 on.

use crate::ycsb::random::Random;

/// Buckets of `block` bytes each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ycsb) struct Histogram {
    block: u64,
    buckets: Vec<u64>,
    area: u64,
}

impl Histogram {
    /// Parses it; an error is the line from 1 and what was expected there.
    pub(in crate::ycsb) fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut lines = text.lines().zip(1..);
        let first = lines.next().and_then(|(line, _)| line.strip_prefix("BlockSize\t"));
        let block = first.and_then(|size| size.trim().parse().ok());
        let block = block.ok_or((1, "expected `BlockSize`, a tabulator and a number"))?;
        let mut buckets = Vec::new();
        for (line, number) in lines {
            let wrong = (number, "expected the next bucket, a tabulator and a count");
            let (bucket, count) = line.split_once('\t').ok_or(wrong)?;
            if bucket.parse() != Ok(buckets.len()) {
                return Err(wrong);
            }
            buckets.push(count.trim().parse().map_err(|_| wrong)?);
        }
        let area = buckets.iter().sum();
        if area == 0 {
            return Err((2, "expected a bucket with a count above 0"));
        }
        Ok(Self { block, buckets, area })
    }

    /// Draws a length. As in YCSB the last bucket is one block short, and a draw equal to the
    /// cumulative count still belongs to the previous bucket.
    pub(in crate::ycsb) fn draw(&self, random: &mut Random) -> u64 {
        self.at(random.below(self.area))
    }

    fn at(&self, mut draw: u64) -> u64 {
        let last = self.buckets.len() - 1;
        for (index, count) in self.buckets[..last].iter().enumerate() {
            if draw <= *count {
                return (index as u64 + 1) * self.block;
            }
            draw -= count;
        }
        last as u64 * self.block
    }

    pub(in crate::ycsb) fn mean(&self) -> f64 {
        let sum: u64 = (0..).zip(&self.buckets).map(|(index, count): (u64, _)| index * count).sum();
        self.block as f64 * sum as f64 / self.area as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_drawn_as_ycsb_draws_them() {
        let histogram = Histogram::parse("BlockSize\t10\n0\t2\n1\t3\n2\t1\n").unwrap();
        let lengths: Vec<u64> = (0..6).map(|draw| histogram.at(draw)).collect();
        assert_eq!(lengths, [10, 10, 10, 20, 20, 20]);
        assert!((histogram.mean() - 50.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn an_invalid_file_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("Size\t5", 1),
            ("BlockSize\t5\n0\tx", 2),
            ("BlockSize\t5\n0\t1\n2\t1", 3),
            ("BlockSize\t5\n", 2),
        ] {
            assert_eq!(Histogram::parse(text).unwrap_err().0, line, "{text:?}");
        }
    }
}
