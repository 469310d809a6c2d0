//! A generated C project: every function is a list of operations, so that the expected output of
//! the program can be computed here as well.

use std::fmt::Write;

/// One operation on the variable that all functions pass on. C computes with `unsigned`, modulo
/// 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// `x = x * a + b`
    Line(u32, u32),
    /// `x ^= x >> n`
    Fold(u32),
    /// `if (x & bit) x += a; else x -= b;`
    Branch(u32, u32, u32),
    /// `for (i = 0; i < n; i++) x = (x << 5) - x + i;`
    Loop(u32),
}

/// Operations per function.
const OPERATIONS: usize = 24;

/// A generated project.
#[derive(Debug)]
pub(super) struct Project {
    /// Files, each a list of functions, each a list of operations.
    files: Vec<Vec<Vec<Operation>>>,
    seed: u32,
}

/// SplitMix64 (Steele, Lea and Flood, 2014): short, and the same numbers on every platform.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 32) as u32
    }

    fn operation(&mut self) -> Operation {
        match self.next() % 4 {
            0 => Operation::Line(self.next() | 1, self.next()),
            1 => Operation::Fold(self.next() % 31 + 1),
            2 => Operation::Branch(self.next() % 32, self.next(), self.next()),
            _ => Operation::Loop(self.next() % 64 + 1),
        }
    }
}

impl Operation {
    fn apply(self, x: u32) -> u32 {
        match self {
            Self::Line(a, b) => x.wrapping_mul(a).wrapping_add(b),
            Self::Fold(n) => x ^ (x >> n),
            Self::Branch(bit, a, _) if x & (1 << bit) != 0 => x.wrapping_add(a),
            Self::Branch(_, _, b) => x.wrapping_sub(b),
            Self::Loop(n) => (0..n).fold(x, |x, i| (x << 5).wrapping_sub(x).wrapping_add(i)),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Line(a, b) => format!("x = x * {a}u + {b}u;"),
            Self::Fold(n) => format!("x ^= x >> {n};"),
            Self::Branch(bit, a, b) => {
                format!("if (x & (1u << {bit})) x += {a}u; else x -= {b}u;")
            }
            Self::Loop(n) => {
                format!("for (unsigned i = 0; i < {n}u; i++) x = (x << 5) - x + i;")
            }
        }
    }
}

impl Project {
    pub(super) fn draw(files: usize, functions: usize, seed: u64) -> Self {
        let mut draws = Draws(seed);
        let function = |draws: &mut Draws| (0..OPERATIONS).map(|_| draws.operation()).collect();
        let files = (0..files).map(|_| (0..functions).map(|_| function(&mut draws)).collect());
        let files = files.collect();
        Self { files, seed: draws.next() }
    }

    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    /// The name of a file without its extension.
    pub(super) fn name(index: usize) -> String {
        format!("file{index:05}")
    }

    /// The text of one file.
    pub(super) fn text(&self, index: usize) -> String {
        let mut text = String::new();
        for (number, operations) in self.files[index].iter().enumerate() {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "static unsigned f{number}(unsigned x)\n{{");
            for operation in operations {
                let _ = writeln!(text, "    {}", operation.text());
            }
            let _ = writeln!(text, "    return x;\n}}\n");
        }
        let _ = writeln!(text, "unsigned file{index}(unsigned x)\n{{");
        for number in 0..self.files[index].len() {
            let _ = writeln!(text, "    x = f{number}(x);");
        }
        let _ = writeln!(text, "    return x;\n}}");
        text
    }

    /// The file with `main`, which calls all others in order and prints the result.
    pub(super) fn main(&self) -> String {
        let mut text = String::from("#include <stdio.h>\n\n");
        for index in 0..self.files.len() {
            let _ = writeln!(text, "unsigned file{index}(unsigned x);");
        }
        let _ = writeln!(text, "\nint main(void)\n{{\n    unsigned x = {}u;", self.seed);
        for index in 0..self.files.len() {
            let _ = writeln!(text, "    x = file{index}(x);");
        }
        text.push_str("    printf(\"%u\\n\", x);\n    return 0;\n}\n");
        text
    }

    /// The expected output of the program.
    pub(super) fn expected_output(&self) -> u32 {
        let operations = self.files.iter().flatten().flatten();
        operations.fold(self.seed, |x, operation| operation.apply(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_project() {
        let text = |seed| Project::draw(2, 3, seed).text(1);
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        assert_eq!(
            Project::draw(2, 3, 1).expected_output(),
            Project::draw(2, 3, 1).expected_output()
        );
    }

    #[test]
    fn operations_are_computed_as_in_c() {
        assert_eq!(Operation::Line(3, 5).apply(u32::MAX), 2);
        assert_eq!(Operation::Fold(4).apply(0x10), 0x11);
        assert_eq!(Operation::Branch(0, 10, 20).apply(1), 11);
        assert_eq!(Operation::Branch(0, 10, 20).apply(2), 2u32.wrapping_sub(20));
        assert_eq!(Operation::Loop(2).apply(1), 962);
    }
}
