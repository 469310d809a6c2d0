//! A small assembler for eBPF (Documentation/bpf/standardization/instruction-set.rst), with labels for
//! jumps.

/// Registers: return value, first argument, frame pointer.
pub(crate) const R0: u8 = 0;
pub(crate) const R1: u8 = 1;
pub(crate) const R10: u8 = 10;

/// The meaning of the 64-bit constant of [`Code::address`] (`src_reg`, linux/bpf.h).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Address {
    /// The value of an array map with one element, by its descriptor.
    MapValue(i32),
    /// A map, by its descriptor.
    Map(i32),
}

/// Opcodes: class, operation, size.
const LOADS: [(u32, u8); 4] = [(1, 0x71), (2, 0x69), (4, 0x61), (8, 0x79)];
const LOAD_CONSTANT: u8 = 0x18;
const STORE: u8 = 0x7b;
const COPY: u8 = 0xbf;
const SET: u8 = 0xb7;
const ADD_NUMBER: u8 = 0x07;
const ADD: u8 = 0x0f;
const MULTIPLY_NUMBER: u8 = 0x27;
const JUMP_IF_EQUAL: u8 = 0x15;
const JUMP_IF_AT_LEAST: u8 = 0x35;
const JUMP_IF_BELOW: u8 = 0xa5;
const JUMP: u8 = 0x05;
const CALL: u8 = 0x85;

/// The callee is a kernel function and not a helper (`BPF_PSEUDO_KFUNC_CALL`).
const OF_KERNEL: u8 = 2;
const EXIT: u8 = 0x95;

/// A program being assembled.
#[derive(Debug, Default)]
pub(crate) struct Code {
    words: Vec<u64>,
    jumps: Vec<(usize, &'static str)>,
    labels: Vec<(&'static str, usize)>,
    /// Whether an offset does not fit into an instruction.
    is_too_far: bool,
}

impl Code {
    fn push(&mut self, code: u8, destination: u8, source: u8, offset: i16, number: i32) {
        self.words.push(
            u64::from(code)
                | u64::from(source << 4 | destination) << 8
                | u64::from(offset as u16) << 16
                | u64::from(number as u32) << 32,
        );
    }

    /// An offset as encoded in an instruction.
    fn near(&mut self, offset: i64) -> i16 {
        i16::try_from(offset).unwrap_or_else(|_| {
            self.is_too_far = true;
            0
        })
    }

    fn jump(&mut self, code: u8, register: u8, number: i32, to: &'static str) {
        self.jumps.push((self.words.len(), to));
        self.push(code, register, 0, 0, number);
    }

    /// `to = *(from + offset)`, of 1, 2, 4 or 8 bytes.
    pub(crate) fn load(&mut self, size: u32, to: u8, from: u8, offset: i32) {
        let code = LOADS.iter().find(|(bytes, _)| *bytes == size).map_or(0x79, |(_, code)| *code);
        let offset = self.near(offset.into());
        self.push(code, to, from, offset, 0);
    }

    /// `*(base + offset) = from`, of 8 bytes.
    pub(crate) fn store(&mut self, base: u8, offset: i32, from: u8) {
        let offset = self.near(offset.into());
        self.push(STORE, base, from, offset, 0);
    }

    /// `to = address`.
    pub(crate) fn address(&mut self, to: u8, address: Address) {
        let (source, number) = match address {
            Address::MapValue(descriptor) => (2, descriptor),
            Address::Map(descriptor) => (1, descriptor),
        };
        self.push(LOAD_CONSTANT, to, source, 0, number);
        self.push(0, 0, 0, 0, 0);
    }

    /// `to = from`.
    pub(crate) fn copy(&mut self, to: u8, from: u8) {
        self.push(COPY, to, from, 0, 0);
    }

    /// `to = number`.
    pub(crate) fn set(&mut self, to: u8, number: i32) {
        self.push(SET, to, 0, 0, number);
    }

    /// `to += number`.
    pub(crate) fn add_number(&mut self, to: u8, number: i32) {
        self.push(ADD_NUMBER, to, 0, 0, number);
    }

    /// `to += from`.
    pub(crate) fn add(&mut self, to: u8, from: u8) {
        self.push(ADD, to, from, 0, 0);
    }

    /// `to *= number`.
    pub(crate) fn multiply(&mut self, to: u8, number: i32) {
        self.push(MULTIPLY_NUMBER, to, 0, 0, number);
    }

    /// Jumps to the label if the register is 0.
    pub(crate) fn jump_if_zero(&mut self, register: u8, to: &'static str) {
        self.jump(JUMP_IF_EQUAL, register, 0, to);
    }

    /// Jumps to the label if the register is at least this number.
    pub(crate) fn jump_if_at_least(&mut self, register: u8, number: i32, to: &'static str) {
        self.jump(JUMP_IF_AT_LEAST, register, number, to);
    }

    /// Jumps to the label if the register is below this number.
    pub(crate) fn jump_if_below(&mut self, register: u8, number: i32, to: &'static str) {
        self.jump(JUMP_IF_BELOW, register, number, to);
    }

    /// Jumps to the label.
    pub(crate) fn jump_to(&mut self, to: &'static str) {
        self.jump(JUMP, 0, 0, to);
    }

    /// Defines a label for the next instruction.
    pub(crate) fn label(&mut self, name: &'static str) {
        self.labels.push((name, self.words.len()));
    }

    /// Calls a helper of linux/bpf.h, with its arguments in registers 1 to 5.
    pub(crate) fn call(&mut self, helper: i32) {
        self.push(CALL, 0, 0, 0, helper);
    }

    /// Calls the kernel function with this BTF id, in the same way as a helper.
    pub(crate) fn call_kernel(&mut self, function: u32) {
        self.push(CALL, 0, OF_KERNEL, 0, function as i32);
    }

    /// Returns this value.
    pub(crate) fn exit(&mut self, answer: i32) {
        self.set(R0, answer);
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// The program. A jump to an undefined label has an invalid target, which the kernel refuses; it
    /// also refuses an empty program, which is the result if an offset does not fit.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        for (at, name) in std::mem::take(&mut self.jumps) {
            let target = self.labels.iter().find(|(label, _)| *label == name);
            let target = target.map_or(-1, |(_, target)| *target as i64 - at as i64 - 1);
            let offset = self.near(target);
            self.words[at] |= u64::from(offset as u16) << 16;
        }
        if self.is_too_far { Vec::new() } else { self.words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_reach_their_labels_forwards_and_backwards() {
        let mut code = Code::default();
        code.set(R1, 0);
        code.label("again");
        code.add_number(R1, 1);
        code.jump_if_zero(R0, "end");
        code.jump_if_below(R1, 9, "again");
        code.label("end");
        code.exit(0);
        let words = code.finish();
        let offset = |at: usize| (words[at] >> 16) as u16 as i16;
        assert_eq!((offset(2), offset(3)), (1, -3));
        assert_eq!(words.last().map(|word| *word as u8), Some(EXIT));
    }

    #[test]
    fn an_offset_that_does_not_fit_gives_no_program() {
        let mut far = Code::default();
        far.load(8, R1, R10, 40_000);
        far.exit(0);
        assert!(far.finish().is_empty());
        let mut far = Code::default();
        far.jump_to("end");
        (0..40_000).for_each(|_| far.set(R1, 0));
        far.label("end");
        far.exit(0);
        assert!(far.finish().is_empty());
    }
}
