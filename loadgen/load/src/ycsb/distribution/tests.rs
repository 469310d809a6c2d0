//! Every distribution compared with its formula, with fixed seeds.

use super::*;

/// Pearson's statistic, with a bound that chance exceeds once in ten thousand times (Wilson and
/// Hilferty's approximation).
fn fits(counts: &[u64], shares: &[f64]) {
    let draws: u64 = counts.iter().sum();
    let chi: f64 = counts
        .iter()
        .zip(shares)
        .map(|(&counts, share)| {
            let expected = draws as f64 * share;
            (counts as f64 - expected).powi(2) / expected
        })
        .sum();
    let freedom = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    let bound = freedom * (1.0 - spread + 3.719 * spread.sqrt()).powi(3);
    assert!(chi < bound, "chi-square {chi} is above {bound}: {counts:?}");
}

fn counted(mut draw: impl FnMut(&mut Random) -> u64, parts: usize, draws: u32) -> Vec<u64> {
    let mut random = Random::new(11, 0);
    let mut counts = vec![0; parts];
    for _ in 0..draws {
        counts[draw(&mut random) as usize] += 1;
    }
    counts
}

#[test]
fn uniform_is_even_over_its_range() {
    let uniform = Uniform { low: 5, high: 24 };
    let counts = counted(|random| uniform.draw(random) - 5, 20, 100_000);
    fits(&counts, &[0.05; 20]);
}

#[test]
fn operations_come_in_their_proportions() {
    let mix = Weighted::new(&[(0.5, 0u64), (0.0, 1), (0.3, 2), (0.2, 3)]).unwrap();
    let counts = counted(|random| mix.draw(random), 4, 100_000);
    assert_eq!(counts[1], 0);
    fits(&[counts[0], counts[2], counts[3]], &[0.5, 0.3, 0.2]);
    assert!(Weighted::new(&[(0.0, 1)]).is_none());
}

#[test]
fn weights_need_not_add_up_to_one() {
    let mix = Weighted::new(&[(3.0, 0u64), (1.0, 1)]).unwrap();
    fits(&counted(|random| mix.draw(random), 2, 100_000), &[0.75, 0.25]);
}

#[test]
fn a_hot_fifth_gets_four_fifths() {
    let mut keys = Keys::Hotspot(Hotspot::over(0, 99, 0.2, 0.8).unwrap());
    let counts = counted(|random| keys.draw(99, random), 100, 200_000);
    let shares: Vec<f64> =
        (0..100).map(|key| if key < 20 { 0.8 / 20.0 } else { 0.2 / 80.0 }).collect();
    fits(&counts, &shares);
}

#[test]
fn an_empty_hot_set_is_refused() {
    assert_eq!(Hotspot::over(0, 3, 0.2, 0.8), None);
    assert_eq!(Hotspot::over(0, 3, 1.0, 0.8), None);
    assert!(Hotspot::over(0, 3, 1.0, 1.0).is_some());
}

#[test]
fn ages_fall_off_exponentially() {
    let mut keys = Keys::exponential(95.0, 857.142_857_1);
    // Whole hundreds of ages: the share below age a is 1 - e^(-rate * a), cut off at 1000.
    let counts = counted(|random| (999 - keys.draw(999, random)) / 100, 10, 200_000);
    let rate = -(0.05f64.ln()) / 857.142_857_1;
    let below = |age: f64| 1.0 - (-rate * age).exp();
    let shares: Vec<f64> = (0..10)
        .map(|part| {
            let from = f64::from(part) * 100.0;
            (below(from + 100.0) - below(from)) / below(1000.0)
        })
        .collect();
    fits(&counts, &shares);
}

#[test]
fn sequential_visits_every_record_in_order() {
    let range = Uniform { low: 3, high: 5 };
    let mut keys = Keys::Sequential(range, std::sync::Arc::default());
    let mut other = keys.clone();
    let mut random = Random::new(0, 0);
    let counts: Vec<u64> =
        (0..3).flat_map(|_| [keys.draw(5, &mut random), other.draw(5, &mut random)]).collect();
    assert_eq!(counts, [3, 4, 5, 3, 4, 5]);
}

#[test]
fn unacknowledged_records_are_never_drawn() {
    let mut keys = Keys::Zipfian(Scrambled::over(0, 2000));
    let mut random = Random::new(6, 0);
    assert!((0..10_000).all(|_| keys.draw(999, &mut random) <= 999));
}

#[test]
fn zipfian_lengths_prefer_the_short() {
    let lengths = Lengths::Zipfian(Zipfian::over(1, 100));
    let counts = counted(|random| lengths.draw(random), 101, 100_000);
    assert_eq!(counts[0], 0);
    assert!(counts[1] > counts[2] && counts[2] > counts[10] && counts[10] > 0);
    let drawn: u64 = (0..).zip(&counts).map(|(length, count): (u64, _)| length * count).sum();
    let mean = drawn as f64 / 1e5;
    assert!((lengths.mean() / mean - 1.0).abs() < 0.15, "{} {mean}", lengths.mean());
}
