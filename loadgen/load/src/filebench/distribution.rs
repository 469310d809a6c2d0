//! Random variables: `randvar`, and the custom variables (`cvar`) that filebench ships.

use std::f64::consts::{E, PI};
use std::sync::Arc;

use super::uniform::Drand48;

/// The shape of a distribution; the parameters have their names in the language.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Uniform {
        low: f64,
        high: f64,
    },
    /// Variance is mean^2 / gamma.
    Gamma {
        gamma: f64,
        mean: f64,
    },
    /// 100 rows of base and range, normalized to mean 1, with the factor that undoes the
    /// normalization.
    Table {
        rows: Vec<(f64, f64)>,
        scale: f64,
    },
    Erlang {
        shape: u32,
        rate: f64,
    },
    Exponential {
        mean: f64,
    },
    Normal {
        mean: f64,
        sigma: f64,
    },
    LogNormal {
        shape: f64,
        scale: f64,
    },
    Triangular {
        low: f64,
        high: f64,
        mode: f64,
    },
    Weibull {
        shape: f64,
        scale: f64,
    },
}

/// Transformation of a drawn number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trim {
    /// Added to the draws of a `randvar`.
    pub(super) offset: f64,
    /// Round to the nearest multiple of this; 0 for no rounding.
    pub(super) round: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Trim {
    #[cfg(test)]
    pub(super) const NONE: Self = Self { offset: 0.0, round: 0.0, min: f64::MIN, max: f64::MAX };
}

/// A random variable: its shape and its random source.
#[derive(Debug, Clone)]
pub(super) struct Distribution {
    pub(super) shape: Shape,
    pub(super) trim: Trim,
    pub(super) source: Arc<Drand48>,
}

impl Distribution {
    /// The next value.
    pub(super) fn draw(&self) -> f64 {
        let source = &self.source;
        let drawn = match &self.shape {
            Shape::Uniform { low, high } => low + source.next() * (high - low),
            Shape::Gamma { gamma, mean } => gamma_draw(*gamma, source) * mean / gamma,
            Shape::Table { rows, scale } => {
                let at = source.next() * rows.len() as f64;
                let (base, range) = rows.get(at as usize).copied().unwrap_or_default();
                (base + range * at.fract()) * scale
            }
            Shape::Erlang { shape, rate } => {
                let product: f64 = (0..(*shape).max(1)).map(|_| positive(source)).product();
                -rate * product.ln() / f64::from((*shape).max(1))
            }
            Shape::Exponential { mean } => -mean * positive(source).ln(),
            Shape::Normal { mean, sigma } => normal(source) * sigma + mean,
            Shape::LogNormal { shape, scale } => (normal(source) * shape + scale).exp(),
            Shape::Triangular { low, high, mode } => triangular(*low, *high, *mode, source.next()),
            Shape::Weibull { shape, scale } => (-positive(source).ln()).powf(1.0 / shape) * scale,
        };
        let Trim { offset, round, min, max } = self.trim;
        let value = drawn + offset;
        let value = if round > 0.0 { (value / round).round() * round } else { value };
        value.max(min).min(max)
    }

    /// The next value as an unsigned integer, truncated.
    pub(super) fn draw_whole(&self) -> u64 {
        self.draw() as u64
    }

    /// The mean before trimming, where it has a closed form; for footprints.
    pub(super) fn mean(&self) -> f64 {
        let mean = match &self.shape {
            Shape::Uniform { low, high } => f64::midpoint(*low, *high),
            Shape::Gamma { mean, .. }
            | Shape::Exponential { mean }
            | Shape::Normal { mean, .. } => *mean,
            Shape::Table { rows, scale } => {
                let sum: f64 = rows.iter().map(|(base, range)| base + range / 2.0).sum();
                sum / rows.len().max(1) as f64 * scale
            }
            Shape::Erlang { rate, .. } => *rate,
            Shape::LogNormal { shape, scale } => (scale + shape * shape / 2.0).exp(),
            Shape::Triangular { low, high, mode } => (low + high + mode) / 3.0,
            // Gamma(1 + 1/shape) is between 0.885 and 1 for shapes of 1 and above.
            Shape::Weibull { scale, .. } => *scale,
        };
        (mean + self.trim.offset).max(self.trim.min).min(self.trim.max)
    }
}

fn positive(source: &Drand48) -> f64 {
    loop {
        let drawn = source.next();
        if drawn > 0.0 {
            return drawn;
        }
    }
}

/// Marsaglia's polar method.
fn normal(source: &Drand48) -> f64 {
    loop {
        let (x, y) = (2.0 * source.next() - 1.0, 2.0 * source.next() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square <= 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

fn triangular(low: f64, high: f64, mode: f64, unit: f64) -> f64 {
    let span = high - low;
    let cut = (mode - low) / span;
    if unit <= cut {
        low + span * (cut * unit).sqrt()
    } else {
        low + span * (1.0 - ((1.0 - cut) * (1.0 - unit)).sqrt())
    }
}

/// A gamma variate of order `a` and scale 1: algorithms A (a > 1, by tangents) and G (a <= 1) of
/// Knuth, The Art of Computer Programming, volume 2, 3.4.1.
pub(super) fn gamma_draw(a: f64, source: &Drand48) -> f64 {
    if a > 1.0 { gamma_above_one(a, source) } else { gamma_up_to_one(a, source) }
}

fn gamma_above_one(a: f64, source: &Drand48) -> f64 {
    let root = (2.0 * a - 1.0).sqrt();
    loop {
        let y = (PI * source.next()).tan();
        let x = root * y + a - 1.0;
        if x <= 0.0 {
            continue;
        }
        let bound = (1.0 + y * y) * ((a - 1.0) * (x / (a - 1.0)).ln() - root * y).exp();
        if source.next() <= bound {
            return x;
        }
    }
}

fn gamma_up_to_one(a: f64, source: &Drand48) -> f64 {
    let p = E / (a + E);
    loop {
        let first = source.next();
        let v = positive(source);
        let (x, q) = if first < p {
            let x = v.powf(1.0 / a);
            (x, (-x).exp())
        } else {
            let x = 1.0 - v.ln();
            (x, x.powf(a - 1.0))
        };
        if source.next() < q {
            return x;
        }
    }
}

/// Converts rows of `{percent, low, high}` to a table of 100 rows with minimum 0 and mean 1.
pub(super) fn table(rows: &[(u64, f64, f64)], mean: f64, min: f64) -> Shape {
    let lowest = rows.iter().map(|(_, low, _)| *low).fold(f64::MAX, f64::min);
    let weighted: f64 =
        rows.iter().map(|(percent, low, high)| f64::midpoint(*low, *high) * *percent as f64).sum();
    let table_mean = weighted / 100.0;
    let target_mean = if mean == 0.0 { table_mean } else { mean };
    let unit = table_mean - lowest;
    let normalized = |(percent, low, high): &(u64, f64, f64)| {
        let row =
            if unit == 0.0 { (0.0, 0.0) } else { ((low - lowest) / unit, (high - low) / unit) };
        std::iter::repeat_n(row, *percent as usize)
    };
    Shape::Table { rows: rows.iter().flat_map(normalized).collect(), scale: target_mean - min }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(shape: Shape) -> (f64, f64) {
        let source = Arc::new(Drand48::seeded(42));
        let distribution = Distribution { shape, trim: Trim::NONE, source };
        let count = 200_000;
        let drawn: Vec<f64> = (0..count).map(|_| distribution.draw()).collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(count);
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(count);
        (mean, variance)
    }

    fn close(actual: f64, expected: f64, within: f64) {
        assert!((actual / expected - 1.0).abs() < within, "{actual} is not about {expected}");
    }

    #[test]
    fn gamma_has_the_requested_mean_and_the_variance_of_its_shape() {
        for gamma in [0.1, 0.5, 1.0, 1.5, 4.0] {
            let (mean, variance) = sample(Shape::Gamma { gamma, mean: 131_072.0 });
            close(mean, 131_072.0, 0.03);
            close(variance, 131_072.0 * 131_072.0 / gamma, 0.08);
        }
    }

    #[test]
    fn the_sizes_of_fileserver_spread_by_107_kilobytes() {
        let (_, variance) = sample(Shape::Gamma { gamma: 1.5, mean: 131_072.0 });
        close(variance.sqrt(), 107_020.0, 0.02);
    }

    #[test]
    fn custom_variables_have_their_means() {
        for shape in [
            Shape::Uniform { low: 4096.0, high: 8192.0 },
            Shape::Erlang { shape: 3, rate: 500.0 },
            Shape::Exponential { mean: 70.0 },
            Shape::Normal { mean: 100.0, sigma: 5.0 },
            Shape::LogNormal { shape: 0.5, scale: 3.0 },
            Shape::Triangular { low: 10.0, high: 40.0, mode: 20.0 },
            Shape::Weibull { shape: 1.0, scale: 9.0 },
        ] {
            let source = Arc::new(Drand48::seeded(0));
            let expected = Distribution { shape: shape.clone(), trim: Trim::NONE, source }.mean();
            close(sample(shape).0, expected, 0.03);
        }
    }

    #[test]
    fn a_table_keeps_its_percentages_and_mean() {
        let rows = [(80, 1024.0, 4096.0), (15, 4096.0, 16384.0), (5, 16384.0, 65536.0)];
        let shape = table(&rows, 0.0, 1024.0);
        let source = Arc::new(Drand48::seeded(1));
        let trim = Trim { offset: 1024.0, ..Trim::NONE };
        let distribution = Distribution { shape, trim, source };
        let drawn: Vec<f64> = (0..100_000).map(|_| distribution.draw()).collect();
        let small = drawn.iter().filter(|x| **x < 4096.0).count();
        close(small as f64, 80_000.0, 0.02);
        close(
            drawn.iter().sum::<f64>() / 1e5,
            0.8 * 2560.0 + 0.15 * 10240.0 + 0.05 * 40960.0,
            0.02,
        );
        close(distribution.mean(), 0.8 * 2560.0 + 0.15 * 10240.0 + 0.05 * 40960.0, 1e-9);
    }

    #[test]
    fn rounding_and_bounds_are_applied() {
        let source = Arc::new(Drand48::seeded(3));
        let shape = Shape::Uniform { low: 0.0, high: 10_000.0 };
        let trim = Trim { offset: 0.0, round: 512.0, min: 1024.0, max: 4096.0 };
        let distribution = Distribution { shape, trim, source };
        for _ in 0..1000 {
            let drawn = distribution.draw();
            assert!(drawn % 512.0 == 0.0 && (1024.0..=4096.0).contains(&drawn), "{drawn}");
        }
    }
}
