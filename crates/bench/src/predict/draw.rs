//! Draws configurations from a seed over the whole range that was ever compared, including parts
//! outside the validated range.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Numbers of groups of each family.
pub(super) const COUNTS: [usize; 5] = [4, 8, 16, 32, 64];

/// The margin of the promise.
pub(super) const WITHIN: f64 = 0.1;

/// One setting of everything except the number of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Family {
    rw: &'static str,
    kilobytes: u32,
    depth: u32,
    weights: &'static str,
    requests: u32,
    budget: u32,
    rotational: u32,
    strict: u32,
    /// Numbers of groups, a subset of [`COUNTS`].
    counts: Vec<usize>,
}

/// The range of drawn settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    /// Pools of a few hundred requests, the default of disks.
    Usual,
    /// Also pools up to the 2048 that a scheduler may have (`MAX_SCHED_RQ` of block/blk-mq.h).
    WithLargePools,
}

impl Range {
    const fn pools(self) -> &'static [u32] {
        match self {
            Self::Usual => &[64, 128, 256, 256],
            Self::WithLargePools => &[64, 128, 256, 512, 1024, 2048],
        }
    }
}

fn pick<T: Copy>(from: &[T], random: &mut ChaCha8Rng) -> T {
    from[random.random_range(0..from.len())]
}

/// Distinct families, each with every number of groups; deterministic for a seed.
pub(super) fn families(range: Range, seed: u64) -> impl Iterator<Item = Family> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn: Vec<Family> = Vec::new();
    std::iter::from_fn(move || {
        loop {
            let family = Family::draw(range, &mut random);
            if !drawn.contains(&family) {
                drawn.push(family.clone());
                return Some(family);
            }
        }
    })
}

impl Family {
    fn draw(range: Range, random: &mut ChaCha8Rng) -> Self {
        Self {
            rw: pick(&["randread", "randwrite", "randrw", "read", "write", "rw"], random),
            kilobytes: pick(&[4, 16, 64, 256], random),
            depth: pick(&[1, 4, 8, 16, 32, 64], random),
            weights: pick(&["100, 200, 400, 800", "100, 300", "200, 500, 1000", "100"], random),
            requests: pick(range.pools(), random),
            budget: pick(&[256, 512, 2048, 0], random),
            rotational: pick(&[0, 1], random),
            strict: pick(&[0, 0, 0, 1], random),
            counts: COUNTS.to_vec(),
        }
    }

    /// The same with only these numbers of groups.
    pub(super) fn with_counts(&self, counts: Vec<usize>) -> Self {
        Self { counts, ..self.clone() }
    }

    pub(super) fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Display name in tables.
    pub(super) fn name(&self) -> String {
        let Self { rw, kilobytes, depth, weights, requests, budget, rotational, strict, .. } = self;
        format!(
            "{rw} {kilobytes}k depth={depth} weights=[{weights}] requests={requests} \
             budget={budget} rotational={rotational} strict={strict}"
        )
    }

    /// Its study.
    pub(super) fn study(&self, seconds: u64) -> String {
        let Self { rw, kilobytes, depth, weights, requests, budget, rotational, strict, counts } =
            self;
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        let counts = counts.join(", ");
        format!(
            r#"title = "A configuration of the validation of predictions"
[factors]
groups = [{counts}]
[design]
repeats = 1
warm_up = "1 s"
at_most = "{seconds} s"
[disks.scratch]
use = "loop"
size = "1 GiB"
scheduler = "bfq"
queue = {{ "nr_requests" = {requests}, "rotational" = {rotational}, "iosched/low_latency" = 0, "iosched/max_budget" = {budget}, "iosched/strict_guarantees" = {strict} }}
[[groups]]
name = "task"
count = "{{groups}}"
knobs = {{ "io.weight" = [{weights}] }}
run = "load"
[workloads.load]
use = "fio"
args = {{ rw = "{rw}", bs = "{kilobytes}k", ioengine = "libaio", iodepth = {depth}, direct = 1, size = "1/{{groups}}" }}
[[promises]]
measure = "io.bytes"
is = "proportional"
to = "io.weight"
within = "10 %"
"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_studies_have_no_errors_and_a_seed_is_deterministic() {
        let forty = |range, seed| families(range, seed).take(40).collect::<Vec<_>>();
        let drawn = forty(Range::WithLargePools, 7);
        assert_eq!(drawn, forty(Range::WithLargePools, 7));
        assert_ne!(drawn, forty(Range::WithLargePools, 8));
        assert_ne!(drawn, forty(Range::Usual, 7));
        for family in &drawn {
            let (study, findings) =
                assay_study::parse("drawn", &family.study(6), &|_| Err(String::new()));
            assert!(study.is_some(), "{}: {findings:?}", family.name());
        }
    }
}
