//! Durations as configuration files write them: a number of seconds.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use toolyard_actors::moment;

/// A duration, written as a number of seconds that may have a fraction: from 0 to 946,080,000, which is 30 years.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub Duration);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A host may set more than a file can say; it is waited for no longer all the same.
        let duration = self.0.min(moment::LONGEST);
        match duration.subsec_nanos() {
            0 => serializer.serialize_u64(duration.as_secs()),
            _ => serializer.serialize_f64(duration.as_secs_f64()),
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        moment::seconds(f64::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}
