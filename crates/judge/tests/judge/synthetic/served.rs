//! Service of the disk of a synthetic run, step by step.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::{Scenario, Server, normal};

impl Scenario {
    /// Cumulative parts of the disk's work at every reading, one row per reading.
    pub(super) fn served(&self, random: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        match self.server {
            Server::Noise { deviation, correlation } => self.noisy(random, deviation, correlation),
            Server::Turns { round_s, jitter } => self.turns(random, round_s, jitter),
            Server::Scripted { rate, deviation } => self.scripted(random, deviation, rate),
        }
    }

    fn noisy(&self, random: &mut ChaCha8Rng, deviation: f64, correlation: f64) -> Vec<Vec<f64>> {
        let width = self.shares.len();
        let fresh = (1.0 - correlation * correlation).sqrt();
        let mut noise: Vec<f64> = (0..width).map(|_| deviation * normal(random)).collect();
        let mut sums = vec![0.0; width];
        let mut rows = vec![sums.clone()];
        for _ in 0..self.steps() + 4 {
            for group in 0..width {
                noise[group] = correlation * noise[group] + deviation * fresh * normal(random);
                sums[group] += 0.1 * self.shares[group] * (1.0 + noise[group]).max(0.0);
            }
            rows.push(sums.clone());
        }
        rows
    }

    fn scripted(
        &self,
        random: &mut ChaCha8Rng,
        deviation: f64,
        rate: fn(f64, usize) -> f64,
    ) -> Vec<Vec<f64>> {
        let mut sums = vec![0.0; self.shares.len()];
        let mut rows = vec![sums.clone()];
        for step in 0..self.steps() + 4 {
            let time = step as f64 * 0.1 - 0.2;
            for (group, (sum, share)) in sums.iter_mut().zip(&self.shares).enumerate() {
                let noise = (1.0 + deviation * normal(random)).max(0.0);
                *sum += 0.1 * share * rate(time, group) * noise;
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
