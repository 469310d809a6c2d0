//! Service of the disk of a synthetic run, step by step.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::{Scenario, Server, normal};

impl Scenario {
    /// Cumulative parts of the disk's work at every reading, one row per reading.
    pub(super) fn served(&self, random: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        match self.server {
            Server::Noise { deviation, correlation } => {
                self.noisy(random, |_| deviation, correlation)
            }
            Server::LightNoise { deviation } => {
                let heaviest = self.shares.iter().copied().fold(0.0, f64::max);
                let of = |group: usize| deviation * (heaviest / self.shares[group]).sqrt();
                self.noisy(random, of, 0.0)
            }
            Server::Turns { round_s, jitter } => self.turns(random, round_s, jitter),
            Server::Heavy { tail } => self.held(random, |random, held| {
                if random.random::<f64>() < 0.2 {
                    let uniform = 1.0 - random.random::<f64>();
                    *held = uniform.powf(-1.0 / tail) * (tail - 1.0) / tail;
                }
            }),
            Server::Bursts { mean_s } => self.held(random, |random, held| {
                if random.random::<f64>() < 0.1 / mean_s {
                    *held = if *held > 1.0 { 0.5 } else { 1.5 };
                } else if (*held - 1.0).abs() < 1e-9 {
                    *held = if random.random::<bool>() { 0.5 } else { 1.5 };
                }
            }),
            Server::Scripted { rate, deviation } => self.scripted(random, deviation, |_, time| {
                (0..self.shares.len()).map(|group| rate(time, group)).collect()
            }),
            Server::States { good_s, bad_s, deviation } => {
                let mut good = true;
                self.scripted(random, deviation, |random, _| {
                    let mean_s = if good { good_s } else { bad_s };
                    good ^= random.random::<f64>() < 0.1 / mean_s;
                    let rate = |group: usize| if !good && group % 4 == 2 { 2.0 } else { 1.0 };
                    (0..self.shares.len()).map(rate).collect()
                })
            }
        }
    }

    fn noisy(
        &self,
        random: &mut ChaCha8Rng,
        deviation: impl Fn(usize) -> f64,
        correlation: f64,
    ) -> Vec<Vec<f64>> {
        let width = self.shares.len();
        let fresh = (1.0 - correlation * correlation).sqrt();
        let mut noise: Vec<f64> =
            (0..width).map(|group| deviation(group) * normal(random)).collect();
        let mut sums = vec![0.0; width];
        let mut rows = vec![sums.clone()];
        for _ in 0..self.steps() + 4 {
            for group in 0..width {
                noise[group] =
                    correlation * noise[group] + deviation(group) * fresh * normal(random);
                sums[group] += 0.1 * self.shares[group] * (1.0 + noise[group]).max(0.0);
            }
            rows.push(sums.clone());
        }
        rows
    }

    /// Every group's rate is its share times its own state, which `change` advances.
    fn held(
        &self,
        random: &mut ChaCha8Rng,
        change: impl Fn(&mut ChaCha8Rng, &mut f64),
    ) -> Vec<Vec<f64>> {
        let width = self.shares.len();
        let mut held = vec![1.0; width];
        // Long enough to reach the stationary distribution.
        for _ in 0..100 {
            held.iter_mut().for_each(|state| change(random, state));
        }
        let mut sums = vec![0.0; width];
        let mut rows = vec![sums.clone()];
        for _ in 0..self.steps() + 4 {
            for ((sum, state), share) in sums.iter_mut().zip(&mut held).zip(&self.shares) {
                change(random, state);
                *sum += 0.1 * share * *state;
            }
            rows.push(sums.clone());
        }
        rows
    }

    fn scripted(
        &self,
        random: &mut ChaCha8Rng,
        deviation: f64,
        mut rates: impl FnMut(&mut ChaCha8Rng, f64) -> Vec<f64>,
    ) -> Vec<Vec<f64>> {
        let mut sums = vec![0.0; self.shares.len()];
        let mut rows = vec![sums.clone()];
        for step in 0..self.steps() + 4 {
            let rates = rates(random, step as f64 * 0.1 - 0.2);
            for ((sum, rate), share) in sums.iter_mut().zip(rates).zip(&self.shares) {
                *sum += 0.1 * share * rate * (1.0 + deviation * normal(random)).max(0.0);
            }
            rows.push(sums.clone());
        }
        rows
    }

    fn turns(&self, random: &mut ChaCha8Rng, round_s: f64, jitter: f64) -> Vec<Vec<f64>> {
        let width = self.shares.len();
        let end = self.seconds + 0.4;
        let mut sums = vec![0.0; width];
        let mut rows = vec![sums.clone()];
        let mut time = -round_s * random.random::<f64>();
        let mut next = 0.1;
        while rows.len() < self.steps() + 5 && time < end + round_s {
            for (group, share) in self.shares.iter().enumerate() {
                let mut left =
                    share * round_s * (1.0 + jitter * (2.0 * random.random::<f64>() - 1.0));
                while left > 0.0 {
                    let slice = left.min(next - time);
                    sums[group] += if time >= 0.0 { slice } else { 0.0 };
                    (time, left) = (time + slice, left - slice);
                    if time >= next - 1e-12 {
                        rows.push(sums.clone());
                        next += 0.1;
                    }
                }
            }
        }
        rows
    }
}
