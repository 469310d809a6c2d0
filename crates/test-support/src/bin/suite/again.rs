//! Tests that failed are run once more, alone and last. One that passes then depends on what else the
//! machine does: it counts as passed and is named as flaky, with what it said when it failed.

use crate::binary::Binary;
use crate::pass::{Failure, Pass, Which};

/// More failures than these are a defect, not a busy machine: nothing is run again.
const MOST: usize = 3;

/// Runs the failed tests again, counts those that pass as passed, and returns what they said at first.
pub(crate) fn run(binaries: &[Binary], passes: &mut [Pass]) -> Vec<Failure> {
    let failed: usize = passes.iter().map(|pass| pass.failed).sum();
    let mut flaky = Vec::new();
    if failed > MOST {
        return flaky;
    }
    for pass in passes {
        let failures = std::mem::take(&mut pass.failures);
        for failure in failures {
            if passes_alone(binaries, &failure.name) {
                pass.failed -= 1;
                pass.passed += 1;
                flaky.push(failure);
            } else {
                pass.failures.push(failure);
            }
        }
    }
    flaky
}

/// Whether the test of this name, after that of its binary, passes with nothing beside it.
fn passes_alone(binaries: &[Binary], name: &str) -> bool {
    let of_binary = |binary: &Binary| name.strip_prefix(&binary.name)?.strip_prefix(' ');
    let found = binaries.iter().find_map(|binary| Some((binary, of_binary(binary)?)));
    // The failure of a whole binary names no test.
    let Some((binary, test)) = found else { return false };
    println!("again, alone: {name}");
    let pass = Pass::run(binary, &Which::These(vec![test.to_owned()]));
    pass.failed == 0 && pass.passed == 1
}
