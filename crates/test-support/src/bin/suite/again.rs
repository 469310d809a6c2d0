//! Failed tests are run once more, alone and last. One that then passes depends on the load of the machine:
//! it counts as passed and is listed as flaky, with the output of its failure.

use crate::binary::Binary;
use crate::pass::{Failure, Pass, Which};

/// More failures than these are a defect, not a busy machine: nothing is run again.
const MOST: usize = 8;

/// Runs the failed tests again, counts those that pass as passed, and returns the output of their failures.
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

/// Whether the test of this name, prefixed by that of its binary, passes when run alone.
fn passes_alone(binaries: &[Binary], name: &str) -> bool {
    let of_binary = |binary: &Binary| name.strip_prefix(&binary.name)?.strip_prefix(' ');
    let match_of_name = binaries.iter().find_map(|binary| Some((binary, of_binary(binary)?)));
    // The failure of a whole binary names no test.
    let Some((binary, test)) = match_of_name else { return false };
    println!("again, alone: {name}");
    let pass = Pass::run(binary, &Which::These(vec![test.to_owned()]));
    pass.failed == 0 && pass.passed == 1
}
