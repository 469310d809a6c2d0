//! The parameters of a run: those of the original by name, or its nine command-line words.

use std::path::PathBuf;

use super::points::LANES;
use super::stream::Source;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase};

/// Parameters of the clustering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Minimum number of centres.
    pub(super) fewest: usize,
    /// Maximum number of centres.
    pub(super) most: usize,
    /// Coordinates per point.
    pub(super) dimension: usize,
    /// Points per chunk.
    pub(super) chunk: usize,
    /// Maximum number of centres kept between chunks.
    pub(super) kept: usize,
}

impl Shape {
    /// Memory of the coordinates, the points and the threads.
    pub(super) fn footprint(&self, threads: usize) -> Footprint {
        let (chunk, dimension) = (self.chunk as u64, self.dimension as u64);
        let padded = chunk.next_multiple_of(LANES as u64);
        Footprint::new(vec![Phase {
            name: "clustering",
            parts: vec![
                ("coordinates", padded * dimension * 4),
                // Weight; cost, and a copy visible to all threads; distance; centre.
                ("points", padded * 20),
                // Order of the points, and which of them are centres.
                ("threads", threads as u64 * chunk * 8),
            ],
        }])
    }
}

/// An input of the original: its shape and its number of points.
pub(super) fn by_name(name: &str) -> Result<(Shape, u64), Failure> {
    let (fewest, most, dimension, points, chunk, kept) = match name {
        "test" => (2, 5, 1, 10, 10, 5),
        "simdev" => (3, 10, 3, 16, 16, 10),
        "simsmall" => (10, 20, 32, 4_096, 4_096, 1_000),
        "simmedium" => (10, 20, 64, 8_192, 8_192, 1_000),
        "simlarge" => (10, 20, 128, 16_384, 16_384, 1_000),
        "native" => (10, 20, 128, 1_000_000, 200_000, 5_000),
        other => {
            return Err(Failure::usage(format!(
                "unknown input `{other}`: use test, simdev, simsmall, simmedium, simlarge or native"
            )));
        }
    };
    Ok((Shape { fewest, most, dimension, chunk, kept }, points))
}

/// Parses the nine words of the original: k1 k2 d n chunksize clustersize infile outfile nproc.
pub(super) fn parse_words(words: &[String]) -> Result<(Shape, Source, PathBuf, usize), Failure> {
    let number = |at: usize, name: &str| {
        words[at].parse::<usize>().ok().filter(|value| *value > 0).ok_or_else(|| {
            Failure::usage(format!("{name} must be a number of at least 1, not `{}`", words[at]))
        })
    };
    let shape = Shape {
        fewest: number(0, "K1")?,
        most: number(1, "K2")?,
        dimension: number(2, "D")?,
        chunk: number(4, "CHUNK")?,
        kept: number(5, "CLUSTERSIZE")?,
    };
    if shape.fewest > shape.most {
        return Err(Failure::usage(format!(
            "K1 ({}), the minimum number of centres, exceeds K2 ({}), the maximum",
            shape.fewest, shape.most
        )));
    }
    let points: i64 = words[3]
        .parse()
        .map_err(|_| Failure::usage(format!("N must be a number of points, not `{}`", words[3])))?;
    let source = match u64::try_from(points) {
        Ok(points) if points > 0 => Source::Drawn { points },
        _ => Source::File(words[6].clone().into()),
    };
    Ok((shape, source, words[7].clone().into(), number(8, "NPROC")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_words_of_the_original_are_parsed() {
        let (shape, source, out, threads) =
            parse_words(&words("10 20 128 16384 16384 1000 none out.txt 2")).unwrap();
        assert_eq!((shape, 16384), by_name("simlarge").unwrap());
        assert_eq!(source, Source::Drawn { points: 16384 });
        assert_eq!((out, threads), ("out.txt".into(), 2));
        let (_, source, ..) = parse_words(&words("2 5 3 0 10 5 points.bin out 1")).unwrap();
        assert_eq!(source, Source::File("points.bin".into()));
    }

    #[test]
    fn invalid_words_are_named() {
        for (text, says) in [
            ("20 10 1 10 10 5 none out 1", "K1 (20)"),
            ("2 x 1 10 10 5 none out 1", "K2"),
            ("2 5 0 10 10 5 none out 1", "D must"),
            ("2 5 1 10 10 5 none out 0", "NPROC"),
        ] {
            let failure = parse_words(&words(text)).unwrap_err();
            assert!(failure.to_string().contains(says), "{failure}");
        }
        assert!(by_name("huge").is_err());
    }

    #[test]
    fn the_footprint_of_native_is_mostly_its_coordinates() {
        let (shape, _) = by_name("native").unwrap();
        let peak = shape.footprint(1).peak();
        assert!((102_400_000..110_000_000).contains(&peak), "{peak}");
    }
}
