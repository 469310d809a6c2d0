//! The original's file formats: options as input, prices as output.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::options::{Entry, Options};
use crate::failure::Failure;
use crate::input;

/// Longest accepted line in bytes; those of the original's files have some seventy.
const MAX_LINE: u64 = 4096;

/// The number in the first line.
pub(super) fn count(path: &Path) -> Result<u64, Failure> {
    let mut first = String::new();
    next_line(&mut open(path)?, &mut first).map_err(|error| unreadable(path, &error))?;
    first.trim().parse().ok().filter(|count| *count > 0).ok_or_else(|| Failure::Input {
        path: path.to_owned(),
        place: Some((1, 1)),
        what: format!("the first line is the number of options, not `{}`", first.trim()),
        remedy: "see docs/load/compute.md; `--input 1000 --write-options FILE` makes one"
            .to_owned(),
    })
}

/// Reads as many options as `options` has room for.
pub(super) fn read(path: &Path, options: &mut Options) -> Result<(), Failure> {
    let mut lines = open(path)?;
    let mut line = String::new();
    next_line(&mut lines, &mut line).map_err(|error| unreadable(path, &error))?;
    for at in 0..options.len() {
        let read = next_line(&mut lines, &mut line).map_err(|error| unreadable(path, &error))?;
        let number = u32::try_from(at + 2).unwrap_or(u32::MAX);
        if read == 0 {
            return Err(mistake(
                path,
                (number, 1),
                format!("the file ends after {at} options, but announces {}", options.len()),
            ));
        }
        let entry = entry(&line).map_err(|(column, what)| mistake(path, (number, column), what))?;
        options.set(at, entry);
    }
    Ok(())
}

/// Reads the next line and returns its length, 0 at the end.
fn next_line(lines: &mut BufReader<File>, line: &mut String) -> std::io::Result<usize> {
    line.clear();
    let read = lines.by_ref().take(MAX_LINE).read_line(line)?;
    match read as u64 == MAX_LINE && !line.ends_with('\n') {
        false => Ok(read),
        true => Err(std::io::Error::other(format!("a line is longer than {MAX_LINE} bytes"))),
    }
}

/// The fields of a line: S K r divq v T type divs reference. Both dividends are ignored, and any
/// type other than `P` is a call, as in the original.
fn entry(line: &str) -> Result<Entry, (u32, String)> {
    let mut words = Words { line, at: 0 };
    let spot = words.number("the spot price", |value| value > 0.0)?;
    let strike = words.number("the strike price", |value| value > 0.0)?;
    let rate = words.number("the rate", |_| true)?;
    words.number("the dividend rate", |_| true)?;
    let volatility = words.number("the volatility", |value| value >= 0.0)?;
    let time = words.number("the time in years", |value| value >= 0.0)?;
    let (_, kind) = words.next("the kind, C or P")?;
    words.number("the dividends", |_| true)?;
    let reference = words.number("the reference price", |_| true)?;
    Ok(Entry { spot, strike, rate, volatility, time, put: kind == "P", reference })
}

struct Words<'l> {
    line: &'l str,
    at: usize,
}

impl<'l> Words<'l> {
    fn next(&mut self, what: &str) -> Result<(u32, &'l str), (u32, String)> {
        let rest = &self.line[self.at..];
        let start = self.at + rest.len() - rest.trim_start().len();
        let column = u32::try_from(start + 1).unwrap_or(u32::MAX);
        let word = rest.split_whitespace().next();
        let word = word.ok_or_else(|| (column, format!("{what} is missing")))?;
        self.at = start + word.len();
        Ok((column, word))
    }

    fn number(&mut self, what: &str, fits: impl Fn(f32) -> bool) -> Result<f32, (u32, String)> {
        let (column, word) = self.next(what)?;
        let value = word.parse().ok().filter(|value: &f32| value.is_finite() && fits(*value));
        value.ok_or_else(|| (column, format!("{what} cannot be `{word}`")))
    }
}

/// Writes options in the original's format.
pub(super) fn write(path: &Path, options: &Options) -> Result<(), Failure> {
    written(path, |file| {
        writeln!(file, "{}", options.len())?;
        for at in 0..options.len() {
            let Entry { spot, strike, rate, volatility, time, put, reference } = options.get(at);
            let kind = if put { 'P' } else { 'C' };
            writeln!(
                file,
                "{spot:.2} {strike:.2} {rate:.4} 0.00 {volatility:.2} {time:.2} {kind} 0.00 \
                 {reference:.18}"
            )?;
        }
        Ok(())
    })
}

/// Writes prices: their number, then one per line.
pub(super) fn write_prices(path: &Path, prices: &[f32]) -> Result<(), Failure> {
    written(path, |file| {
        writeln!(file, "{}", prices.len())?;
        prices.iter().try_for_each(|price| writeln!(file, "{price:.18}"))
    })
}

fn written(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let done = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.flush()
    });
    done.map_err(|error| Failure::Ended {
        what: format!("write {}: {error}", path.display()),
        remedy: "name a writable path with free space".to_owned(),
    })
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    input::open(path).map(BufReader::new).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Input {
        path: path.to_owned(),
        place: None,
        what: format!("cannot be read: {error}"),
        remedy: "name a file of options; `--input 1000 --write-options FILE` makes one".to_owned(),
    }
}

fn mistake(path: &Path, place: (u32, u32), what: String) -> Failure {
    Failure::Input {
        path: path.to_owned(),
        place: Some(place),
        what,
        remedy: "a line is `S K r divq v T type divs reference`, such as \
                 `42.00 40.00 0.1000 0.00 0.20 0.50 C 0.00 4.759423036851750055`"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_sys::kernel::anonymous_memory::HugePages;

    fn parsed(text: &str) -> Result<Options, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.txt");
        std::fs::write(&path, text).unwrap();
        let count = count(&path)?;
        let mut options = Options::allocate(count as usize, HugePages::System, true).unwrap();
        read(&path, &mut options).map(|()| options)
    }

    #[test]
    fn a_file_of_the_original_is_read() {
        let options = parsed(
            "2\n42.00 40.00 0.1000 0.00 0.20 0.50 C 0.00 4.759423036851750055\n\
                          42.00 40.00 0.1000 0.00 0.20 0.50 P 0.00 0.808600016880314021\n",
        )
        .unwrap();
        assert_eq!((options.get(0).strike, options.get(0).put), (40.0, false));
        assert_eq!((options.get(1).reference, options.get(1).put), (0.808_6, true));
    }

    #[test]
    fn mistakes_have_a_position() {
        let good = "42.00 40.00 0.1000 0.00 0.20 0.50 C 0.00 4.75\n";
        for (text, says) in [
            ("none\n".to_owned(), "in.txt:1:1: the first line is the number of options"),
            (String::new(), "in.txt:1:1:"),
            (format!("3\n{good}{good}"), "in.txt:4:1: the file ends after 2 options"),
            (format!("1\n{}", good.replace("40.00", "-4")), "in.txt:2:7: the strike price"),
            ("1\n42.00 40.00\n".to_owned(), "the rate is missing"),
            (format!("1\n{}", good.replace("0.20", "nan")), "in.txt:2:25: the volatility"),
        ] {
            let failure = parsed(&text).err().unwrap();
            assert!(failure.to_string().contains(says), "{failure} for {text}");
            assert_eq!(failure.exit_code(), 2);
        }
    }

    #[test]
    fn written_options_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("options.txt");
        let mut random = crate::parsec::lrand48::Lrand48::seeded(5);
        let mut options = Options::allocate(100, HugePages::System, true).unwrap();
        for at in 0..100 {
            options.set(at, super::super::options::draw(&mut random));
        }
        write(&path, &options).unwrap();
        let mut again = Options::allocate(100, HugePages::System, true).unwrap();
        read(&path, &mut again).unwrap();
        for (one, other) in (0..100).map(|at| (options.get(at), again.get(at))) {
            // A reference price has 18 decimals, fewer than a tiny one needs.
            assert!((one.reference - other.reference).abs() < 1e-17, "{one:?} {other:?}");
            assert_eq!(Entry { reference: 0.0, ..one }, Entry { reference: 0.0, ..other });
        }
    }
}
