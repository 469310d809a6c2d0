//! Mutates inputs: damage by disks, copies and editing, and by attackers.

use crate::random::Random;

/// Maximum length of an input.
pub(crate) const LONGEST: usize = 1 << 18;

/// Boundary values, as text.
const NUMBERS: [&str; 20] = [
    "0",
    "-1",
    "1",
    "2",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e-320",
    "-0.0",
    "NaN",
    "inf",
    "99999999999999999999999999999999999999",
];

/// Tokens that are significant to more than one reader.
const TOKENS: [&str; 40] = [
    "\"",
    "'",
    "\\",
    "\n",
    "\r\n",
    "\t",
    "\0",
    ",",
    ":",
    ";",
    "=",
    "|",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "#",
    "%",
    "$",
    "@",
    "-",
    ".",
    "..",
    "/",
    "{}",
    "[]",
    "null",
    "true",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[2J",
    "e",
    "_",
    " ",
    "\"\"",
    "\\u0000",
];

/// Tokens that open a nested structure.
const OPENING: [&str; 8] = ["[", "{\"a\":", "(", "[[", "a.", "{", "<", "\"\\"];

/// One input from the pool with one to eight mutations.
pub(crate) fn mutated(pool: &[Vec<u8>], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = random.choose(pool).cloned().unwrap_or_default();
    for _ in 0..=random.below(8) {
        change(&mut bytes, pool, words, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, pool: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let at = random.below(bytes.len());
    let length = random_length(random);
    let end = (at + 1 + random.below(length)).min(bytes.len());
    match random.below(16) {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        3 => drop(bytes.drain(at..end)),
        4 => {
            let copy = bytes[at..end].to_vec();
            insert(bytes, at, &copy);
        }
        5 | 6 => number(bytes, at, random),
        7 | 8 => {
            insert(bytes, at, random.choose(&TOKENS).map_or(&b""[..], |token| token.as_bytes()));
        }
        9 | 10 => insert(bytes, at, random.choose(words).map_or(&b""[..], |word| word.as_bytes())),
        11 => splice(bytes, at, pool, random),
        12 if random.below(4) == 0 => bytes.truncate(at),
        13 => integer(bytes, at, random),
        14 => lines(bytes, random),
        15 if random.below(64) == 0 => {
            let opening = random.choose(&OPENING).copied().unwrap_or("[");
            insert(bytes, at, opening.repeat(1 + random.below(50_000)).as_bytes());
        }
        _ => insert(bytes, at, &[0xff, 0xc0, 0x80][..1 + random.below(3)]),
    }
}

/// Usually a few bytes, sometimes many.
const fn random_length(random: &mut Random) -> usize {
    1 << random.below(12)
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// Replaces the next number in a text.
fn number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(begin) = bytes[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset)
    else {
        return;
    };
    let length = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let other = random.choose(&NUMBERS).copied().unwrap_or("0");
    bytes.splice(begin..begin + length, other.bytes());
}

/// Replaces four or eight bytes by another integer.
fn integer(bytes: &mut [u8], at: usize, random: &mut Random) {
    let edge = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];
    let value = random.choose(&edge).copied().unwrap_or(0).wrapping_sub(random.below(3) as u64);
    let width = if random.below(2) == 0 { 4 } else { 8 };
    for (byte, new) in bytes.iter_mut().skip(at).take(width).zip(value.to_le_bytes()) {
        *byte = new;
    }
}

/// Replaces the rest by a part of another input.
fn splice(bytes: &mut Vec<u8>, at: usize, pool: &[Vec<u8>], random: &mut Random) {
    let Some(other) = random.choose(pool) else { return };
    let from = random.below(other.len());
    bytes.truncate(at);
    bytes.extend_from_slice(&other[from..]);
}

/// Moves a line.
fn lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut all: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (from, to) = (random.below(all.len()), random.below(all.len()));
    if from < all.len() {
        let line = all.remove(from);
        all.insert(to.min(all.len()), line);
    }
    *bytes = all.concat();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let pool = [b"{\"a\": 12, \"b\": [1, 2]}\nsecond line\n".to_vec(), Vec::new()];
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..2000).map(|_| mutated(&pool, &["word"], &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        let all = draw(7);
        assert!(all.iter().any(|input| input.len() > 1000) && all.iter().any(Vec::is_empty));
        assert!(all.iter().all(|input| input.len() <= LONGEST));
    }
}
