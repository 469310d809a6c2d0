//! Tests of the sampler's own account: a line only if something was late or lost.

use crate::cases;
use crate::page::{html, text};

#[test]
fn only_late_or_lost_rounds_are_listed() {
    let mut run = cases::kept();
    assert!(!text(&run).contains("sampling of repeat"));
    let sampler = &mut run.manifest.trials[0].repeats[1].sampler;
    (sampler.rounds, sampler.missed, sampler.late, sampler.latest_s) = (197, 3, 5, 0.0382);
    let text = text(&run);
    let line = "sampling of repeat 2: 3 of 200 rounds lost, 5 late, the latest by 38.2 ms";
    assert!(text.contains(line), "{text}");
    assert_eq!(text.matches("sampling of repeat").count(), 1);
    assert_eq!(html(&run).matches(line).count(), 1);
}
