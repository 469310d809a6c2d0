//! Compiles rules to eBPF instructions (Documentation/bpf/standardization/instruction-set.rst).

use super::rule::{DeviceRule, MKNOD, READ, Verb, WRITE};

/// `R0` is the return value, `R1` the context at the start of the program.
const R0: u8 = 0;
const CONTEXT: u8 = 1;
const KIND: u8 = 2;
const ACCESS: u8 = 3;
const MAJOR: u8 = 4;
const MINOR: u8 = 5;
/// The context is not needed once its fields are in registers.
const SCRATCH: u8 = CONTEXT;

/// Opcodes: class, operation, source.
const LOAD_WORD: u8 = 0x61;
const MOVE_NUMBER: u8 = 0xb7;
const MOVE: u8 = 0xbf;
const AND_NUMBER: u8 = 0x57;
const SHIFT_RIGHT: u8 = 0x77;
const JUMP_IF_EQUAL: u8 = 0x15;
const JUMP_IF_NOT_EQUAL: u8 = 0x55;
const EXIT: u8 = 0x95;

/// All kinds of access to a device.
const ALL: u32 = MKNOD | READ | WRITE;

/// One instruction in the kernel's layout: `struct bpf_insn` of linux/bpf.h.
fn instruction(code: u8, destination: u8, source: u8, offset: i16, number: i32) -> u64 {
    u64::from(code)
        | u64::from(source << 4 | destination) << 8
        | u64::from(offset as u16) << 16
        | u64::from(number as u32) << 32
}

/// The program, returning 1 (allowed) or 0 (EPERM). The last matching rule decides, and `otherwise` if
/// none matches.
///
/// A request may combine kinds of access, as an open for reading and writing does: a deny rule matches
/// if it covers any of them, an allow rule if it covers all of them.
pub(super) fn program(rules: &[(Verb, DeviceRule)], otherwise: Verb) -> Vec<u64> {
    let mut code = vec![
        // struct bpf_cgroup_dev_ctx { __u32 access_type; __u32 major; __u32 minor; }, where
        // access_type is (access << 16) | kind.
        instruction(LOAD_WORD, KIND, CONTEXT, 0, 0),
        instruction(LOAD_WORD, MAJOR, CONTEXT, 4, 0),
        instruction(LOAD_WORD, MINOR, CONTEXT, 8, 0),
        instruction(MOVE, ACCESS, KIND, 0, 0),
        instruction(AND_NUMBER, KIND, 0, 0, 0xffff),
        instruction(SHIFT_RIGHT, ACCESS, 0, 0, 16),
    ];
    for (verb, rule) in rules.iter().rev() {
        code.extend(block(*verb, rule));
    }
    code.extend(answer(otherwise));
    code
}

fn answer(verb: Verb) -> [u64; 2] {
    let allowed = i32::from(verb == Verb::Allow);
    [instruction(MOVE_NUMBER, R0, 0, 0, allowed), instruction(EXIT, 0, 0, 0, 0)]
}

/// The tests of one rule, each of which jumps past the block when it fails.
fn block(verb: Verb, rule: &DeviceRule) -> Vec<u64> {
    let mut tests: Vec<(u8, u8, u32)> = Vec::new();
    let numbers = [(KIND, rule.kind), (MAJOR, rule.major), (MINOR, rule.minor)];
    let tested = numbers.into_iter().filter_map(|(register, number)| Some((register, number?)));
    tests.extend(tested.map(|(register, number)| (JUMP_IF_NOT_EQUAL, register, number)));
    let (mask, jump) = match verb {
        Verb::Allow => (ALL & !rule.access, JUMP_IF_NOT_EQUAL),
        Verb::Deny => (rule.access, JUMP_IF_EQUAL),
    };
    tests.push((jump, SCRATCH, 0));
    let decision = answer(verb);
    let mut code = vec![
        instruction(MOVE, SCRATCH, ACCESS, 0, 0),
        instruction(AND_NUMBER, SCRATCH, 0, 0, mask as i32),
    ];
    for (nth, (jump, register, number)) in tests.iter().enumerate() {
        let behind = tests.len() - nth - 1 + decision.len();
        code.push(instruction(*jump, *register, 0, behind as i16, *number as i32));
    }
    code.extend(decision);
    code
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The result of the program, by an interpreter of the instructions that it uses.
    fn run(program: &[u64], kind: u32, access: u32, major: u32, minor: u32) -> bool {
        let context = [(access << 16) | kind, major, minor];
        let mut registers = [0u64; 10];
        let mut at = 0usize;
        loop {
            let code = program[at];
            let (destination, source) = ((code >> 8 & 15) as usize, (code >> 12 & 15) as usize);
            let offset = (code >> 16) as u16 as i16;
            let number = i64::from((code >> 32) as i32) as u64;
            at += 1;
            match code as u8 {
                LOAD_WORD => registers[destination] = u64::from(context[offset as usize / 4]),
                MOVE => registers[destination] = registers[source],
                MOVE_NUMBER => registers[destination] = number,
                AND_NUMBER => registers[destination] &= number,
                SHIFT_RIGHT => registers[destination] >>= number,
                JUMP_IF_EQUAL if registers[destination] == number => at += offset as usize,
                JUMP_IF_NOT_EQUAL if registers[destination] != number => at += offset as usize,
                JUMP_IF_EQUAL | JUMP_IF_NOT_EQUAL => {}
                EXIT => return registers[0] == 1,
                other => panic!("{other:#x}"),
            }
        }
    }

    /// The expected result, computed from the rules directly.
    fn decide(
        rules: &[(Verb, DeviceRule)],
        kind: u32,
        access: u32,
        major: u32,
        minor: u32,
    ) -> bool {
        let is = |required: Option<u32>, actual| required.is_none_or(|required| required == actual);
        let matching = rules.iter().rev().find(|(verb, rule)| {
            let ways = match verb {
                Verb::Allow => access & !rule.access == 0,
                Verb::Deny => access & rule.access != 0,
            };
            ways && is(rule.kind, kind) && is(rule.major, major) && is(rule.minor, minor)
        });
        matching.is_none_or(|(verb, _)| *verb == Verb::Allow)
    }

    #[test]
    fn the_null_device_is_denied_but_not_its_neighbour() {
        let rules = [(Verb::Deny, "c 1:3 rwm".parse().unwrap())];
        let program = program(&rules, Verb::Allow);
        assert!(!run(&program, 2, READ, 1, 3));
        assert!(run(&program, 2, READ, 1, 5));
        assert!(run(&program, 1, READ, 1, 3), "the block device of the same numbers");
    }

    fn rule() -> impl Strategy<Value = (Verb, DeviceRule)> {
        let verb = prop_oneof![Just(Verb::Allow), Just(Verb::Deny)];
        let kind = prop_oneof![Just(None), Just(Some(1)), Just(Some(2))];
        let number = || prop_oneof![Just(None), (0u32..3).prop_map(Some)];
        (verb, kind, number(), number(), 1u32..8).prop_map(|(verb, kind, major, minor, access)| {
            (verb, DeviceRule { kind, major, minor, access })
        })
    }

    proptest! {
        #[test]
        fn the_program_agrees_with_the_rules(
            rules in prop::collection::vec(rule(), 0..6),
            kind in 1u32..3, access in 1u32..8, major in 0u32..3, minor in 0u32..3,
        ) {
            let program = program(&rules, Verb::Allow);
            prop_assert_eq!(
                run(&program, kind, access, major, minor),
                decide(&rules, kind, access, major, minor)
            );
        }
    }
}
