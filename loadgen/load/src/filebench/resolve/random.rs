//! Resolves `randvar` and `cvar` attributes to distributions.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::super::distribution::{Distribution, Shape, Trim, table};
use super::super::language::{Attribute, Position, Value, suggestion};
use super::super::uniform::{Drand48, ThreadRandom};
use super::Resolver;
use super::values::{self, AttributeValue, find};

/// The custom variables that filebench ships, with their parameters and defaults.
const CUSTOM: &[(&str, &[(&str, f64)])] = &[
    ("cvar-erlang", &[("shape", 1.0), ("rate", 1.0)]),
    ("cvar-exponential", &[("mean", 1.0)]),
    ("cvar-gamma", &[("mean", 4096.0), ("gamma", 1.5)]),
    ("cvar-lognormal", &[("shape", 1.0), ("scale", 1.0)]),
    ("cvar-normal", &[("mean", 0.0), ("sigma", 1.0)]),
    ("cvar-triangular", &[("lower", 0.0), ("upper", 1.0), ("mode", 0.5)]),
    ("cvar-uniform", &[("lower", 0.0), ("upper", 1.0)]),
    ("cvar-weibull", &[("shape", 1.0), ("scale", 1.0)]),
];

impl Resolver<'_> {
    fn optional(&mut self, list: &[Attribute], name: &str, default: u64) -> u64 {
        match find(list, &[name]) {
            None => default,
            Some(attribute) => {
                self.amount(&attribute, &HashMap::new()).map_or(default, |a| a.get())
            }
        }
    }

    fn word_of(&mut self, list: &[Attribute], name: &str) -> Option<(String, Position)> {
        let attribute = find(list, &[name])?;
        match values::text(&attribute, &HashMap::new(), &self.variables) {
            Ok(text) => Some((text, attribute.position)),
            Err(mistake) => {
                self.mistakes.push(mistake);
                None
            }
        }
    }

    /// `randvar(...)`.
    pub(super) fn random_variable(
        &mut self,
        list: &[Attribute],
        position: Position,
    ) -> Option<Distribution> {
        let min = self.optional(list, "min", 0) as f64;
        let round = self.optional(list, "round", 0) as f64;
        let gamma = self.optional(list, "gamma", 1500) as f64 / 1000.0;
        let seed = self.optional(list, "seed", 0);
        let mean = find(list, &["mean"]).is_some().then(|| self.optional(list, "mean", 0) as f64);
        let shape = match self.word_of(list, "type") {
            None => gamma_shape(gamma, mean, min),
            Some((word, _)) if word == "gamma" => gamma_shape(gamma, mean, min),
            Some((word, _)) if word == "uniform" => {
                Shape::Uniform { low: 0.0, high: 2.0 * (mean.unwrap_or(0.0) - min) }
            }
            Some((word, at)) if word == "tabular" => {
                let rows = self.rows(list, at)?;
                table(&rows, mean.unwrap_or(0.0), min)
            }
            Some((word, at)) => {
                let remedy = suggestion(&word, &["gamma", "uniform", "tabular"]);
                self.mistake(at, format!("unknown type of random variable `{word}`"), remedy);
                return None;
            }
        };
        if matches!(shape, Shape::Gamma { gamma, .. } if gamma <= 0.0) {
            self.mistake(position, "gamma is 0", "write gamma=1500 for a shape of 1.5");
            return None;
        }
        let source = match self.word_of(list, "randsrc") {
            None => Drand48::from_state(seed),
            Some((word, _)) if word == "rand48" => Drand48::from_state(seed),
            Some((word, _)) if word == "urandom" => self.new_source(),
            Some((word, at)) => {
                let remedy = suggestion(&word, &["rand48", "urandom"]);
                self.mistake(at, format!("unknown random source `{word}`"), remedy);
                return None;
            }
        };
        let trim = Trim { offset: min, round, min: 0.0, max: f64::MAX };
        Some(Distribution { shape, trim, source: Arc::new(source) })
    }

    fn rows(&mut self, list: &[Attribute], position: Position) -> Option<Vec<(u64, f64, f64)>> {
        let Some(AttributeValue { value: Some(Value::Table(rows)), position, .. }) =
            find(list, &["randtable"])
        else {
            self.mistake(
                position,
                "a tabular variable without a table",
                "add randtable={{100,1k,4k}}",
            );
            return None;
        };
        let rows: Vec<(u64, f64, f64)> = rows
            .iter()
            .map(|[percent, low, high]| {
                let mut cell = |value: &Value| self.number(value, position, "randtable");
                (cell(percent), cell(low) as f64, cell(high) as f64)
            })
            .collect();
        let total = rows.iter().fold(0_u64, |total, (percent, ..)| total.saturating_add(*percent));
        if total != 100 {
            let remedy = "the first number of each row is its percentage";
            self.mistake(position, format!("the table totals {total} %, not 100 %"), remedy);
            return None;
        }
        Some(rows)
    }

    /// `cvar(...)`.
    pub(super) fn custom_variable(
        &mut self,
        list: &[Attribute],
        position: Position,
    ) -> Option<Distribution> {
        let Some((kind, at)) = self.word_of(list, "type") else {
            self.mistake(position, "a custom variable without a type", "add type=cvar-gamma");
            return None;
        };
        let Some((_, defaults)) = CUSTOM.iter().find(|(name, _)| *name == kind) else {
            let known: Vec<&str> = CUSTOM.iter().map(|(name, _)| *name).collect();
            self.mistake(
                at,
                format!("unknown custom variable `{kind}`"),
                suggestion(&kind, &known),
            );
            return None;
        };
        let numbers = match self.word_of(list, "parameters") {
            None => defaults.iter().map(|(_, default)| *default).collect(),
            Some((text, at)) => self.parameters(&text, defaults, at)?,
        };
        let shape = custom_shape(&kind, &numbers);
        if matches!(shape, Shape::Gamma { gamma, .. } if gamma <= 0.0) {
            self.mistake(at, "gamma must be greater than 0", "write gamma:1.5");
            return None;
        }
        let min = find(list, &["min"]).map(|_| self.optional(list, "min", 0) as f64);
        let max = find(list, &["max"]).map(|_| self.optional(list, "max", 0) as f64);
        let trim = Trim {
            offset: 0.0,
            round: self.optional(list, "round", 0) as f64,
            min: min.unwrap_or(0.0),
            max: max.unwrap_or(f64::MAX),
        };
        // cvar-gamma draws from drand48 of the process, like the layout of file sets, so that sizes
        // are those of filebench; the others have a generator of their own.
        let source = if kind == "cvar-gamma" {
            Arc::clone(&self.source)
        } else {
            Arc::new(self.new_source())
        };
        Some(Distribution { shape, trim, source })
    }

    fn parameters(
        &mut self,
        text: &str,
        defaults: &[(&str, f64)],
        position: Position,
    ) -> Option<Vec<f64>> {
        let mut numbers: Vec<f64> = defaults.iter().map(|(_, default)| *default).collect();
        let known: Vec<&str> = defaults.iter().map(|(name, _)| *name).collect();
        for pair in text.split(';').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once(':').unwrap_or((pair, ""));
            let at = known.iter().position(|name| *name == key);
            match (at, value.parse::<f64>()) {
                (Some(at), Ok(number)) => numbers[at] = number,
                (None, _) => {
                    let what = format!("unknown parameter `{key}`");
                    self.mistake(position, what, suggestion(key, &known));
                    return None;
                }
                (_, Err(_)) => {
                    let what = format!("`{value}` of {key} is not a number");
                    self.mistake(position, what, "write parameters=mean:4096;gamma:1.5");
                    return None;
                }
            }
        }
        Some(numbers)
    }

    /// A new source: from the seed if there is one, otherwise a different one each time.
    fn new_source(&mut self) -> Drand48 {
        self.random_variables += 1;
        let seed = self.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        Drand48::from_state(ThreadRandom::seeded(seed.wrapping_add(self.random_variables)).next())
    }
}

/// Without a mean, a gamma variable has its shape as the mean, as in filebench.
fn gamma_shape(gamma: f64, mean: Option<f64>, min: f64) -> Shape {
    Shape::Gamma { gamma, mean: mean.unwrap_or(gamma) - min }
}

fn custom_shape(kind: &str, numbers: &[f64]) -> Shape {
    let at = |index: usize| numbers.get(index).copied().unwrap_or_default();
    match kind {
        "cvar-erlang" => Shape::Erlang { shape: at(0) as u32, rate: at(1) },
        "cvar-exponential" => Shape::Exponential { mean: at(0) },
        "cvar-lognormal" => Shape::LogNormal { shape: at(0), scale: at(1) },
        "cvar-normal" => Shape::Normal { mean: at(0), sigma: at(1) },
        "cvar-triangular" => Shape::Triangular { low: at(0), high: at(1), mode: at(2) },
        "cvar-uniform" => Shape::Uniform { low: at(0), high: at(1) },
        "cvar-weibull" => Shape::Weibull { shape: at(0), scale: at(1) },
        _ => Shape::Gamma { mean: at(0), gamma: at(1) },
    }
}
