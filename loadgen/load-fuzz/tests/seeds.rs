//! Every target for a short time with reproducible inputs; `make fuzz` runs them for any time.

use assay_load_fuzz::TARGETS;

#[test]
fn no_reader_of_a_load_panics_on_the_inputs_of_the_seed() {
    for target in &TARGETS {
        target.run_inputs_of_tests().unwrap_or_else(|why| panic!("{why}"));
    }
}
