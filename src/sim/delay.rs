//! How long something takes.

use std::time::Duration;

use rand_distr::{Distribution, Exp, LogNormal};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// A span of time drawn by chance, in whole milliseconds. In a scenario: `{ constant_ms = 5 }`, `{ uniform_ms = [1, 9] }`,
/// `{ exponential_ms = 5 }` (the mean), or `{ lognormal_ms = { median = 5, sigma = 0.5 } }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Delay(Kind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Constant(u64),
    Uniform(u64, u64),
    Exponential { mean: f64, drawn: Exp<f64> },
    Lognormal { median: f64, sigma: f64, drawn: LogNormal<f64> },
}

/// The longest span that is drawn: what comes out longer is cut.
const LONGEST: f64 = 1000.0 * 3600.0 * 24.0 * 365.0;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Written {
    #[serde(rename = "constant_ms")]
    Constant(u64),
    #[serde(rename = "uniform_ms")]
    Uniform((u64, u64)),
    #[serde(rename = "exponential_ms")]
    Exponential(f64),
    #[serde(rename = "lognormal_ms")]
    Lognormal(Lognormal),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lognormal {
    median: f64,
    sigma: f64,
}

impl Delay {
    pub(super) fn draw(&self, chance: &mut Pcg64Mcg) -> Duration {
        let ms = match self.0 {
            Kind::Constant(ms) => return Duration::from_millis(ms),
            Kind::Uniform(from, to) => {
                return Duration::from_millis(super::chance::between(chance, from, to));
            }
            Kind::Exponential { drawn, .. } => drawn.sample(chance),
            Kind::Lognormal { drawn, .. } => drawn.sample(chance),
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to the range")]
        let ms = ms.clamp(0.0, LONGEST).round() as u64;
        Duration::from_millis(ms)
    }
}

impl TryFrom<Written> for Delay {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        Ok(Self(match written {
            Written::Constant(ms) => Kind::Constant(ms),
            Written::Uniform((from, to)) if from <= to => Kind::Uniform(from, to),
            Written::Uniform((from, to)) => {
                return Err(format!("`uniform_ms` ends ({to}) before it begins ({from})"));
            }
            Written::Exponential(mean) if positive(mean) => {
                let drawn = Exp::new(1.0 / mean).map_err(|error| format!("`exponential_ms`: {error}"))?;
                Kind::Exponential { mean, drawn }
            }
            Written::Exponential(_) => return Err("`exponential_ms` must be above 0".to_owned()),
            Written::Lognormal(Lognormal { median, sigma }) if positive(median) && sigma >= 0.0 => {
                let drawn =
                    LogNormal::new(median.ln(), sigma).map_err(|error| format!("`lognormal_ms`: {error}"))?;
                Kind::Lognormal { median, sigma, drawn }
            }
            Written::Lognormal(_) => {
                return Err("`lognormal_ms` needs a `median` above 0 and a `sigma` of at least 0".to_owned());
            }
        }))
    }
}

impl From<Delay> for Written {
    fn from(Delay(kind): Delay) -> Self {
        match kind {
            Kind::Constant(ms) => Self::Constant(ms),
            Kind::Uniform(from, to) => Self::Uniform((from, to)),
            Kind::Exponential { mean, .. } => Self::Exponential(mean),
            Kind::Lognormal { median, sigma, .. } => Self::Lognormal(Lognormal { median, sigma }),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        delay: Delay,
    }

    fn read(text: &str) -> Result<Delay, String> {
        let read: Result<Holder, _> = toml::from_str(&format!("delay = {text}"));
        read.map(|holder| holder.delay).map_err(|error| error.to_string())
    }

    /// The sorted milliseconds of many draws.
    fn draws(text: &str) -> Vec<u128> {
        let (delay, mut chance) = (read(text).unwrap(), Pcg64Mcg::seed_from_u64(7));
        let mut all: Vec<_> = (0..10_001).map(|_| delay.draw(&mut chance).as_millis()).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn what_is_drawn_has_the_shape_that_was_asked_for() {
        assert_eq!(draws("{ constant_ms = 5 }")[..1], [5]);
        let uniform = draws("{ uniform_ms = [10, 20] }");
        assert_eq!((uniform[0], uniform[10_000]), (10, 20));
        let exponential = draws("{ exponential_ms = 1000 }");
        let mean = exponential.iter().sum::<u128>() / 10_001;
        assert!((950..1_050).contains(&mean), "{mean}");
        let lognormal = draws("{ lognormal_ms = { median = 1000, sigma = 0.5 } }");
        assert!((950..1_050).contains(&lognormal[5_000]), "{}", lognormal[5_000]);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_by_its_key() {
        for (text, key) in [
            ("{ uniform_ms = [2, 1] }", "uniform_ms"),
            ("{ exponential_ms = 0 }", "exponential_ms"),
            ("{ lognormal_ms = { median = -1, sigma = 1 } }", "lognormal_ms"),
            ("{ pareto_ms = 1 }", "pareto_ms"),
            ("5", "delay"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(key), "{error}");
        }
    }
}
