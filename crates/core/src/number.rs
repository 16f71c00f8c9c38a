//! Counts that a user may give as a number or as a percentage.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A count, absolute or relative to another one, such as a Deployment's `maxSurge` (deployment D-30).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntOrPercent {
    /// This many.
    Int(i32),
    /// This many of a hundred.
    Percent(i32),
}

/// Which whole number a fraction becomes. There is no default: surge rounds up, unavailability rounds down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// To the next larger whole number.
    Up,
    /// To the next smaller whole number.
    Down,
}

impl IntOrPercent {
    /// The count it stands for where `total` is the whole. Exact for all inputs.
    pub fn scaled(self, total: i32, round: Round) -> i64 {
        match self {
            Self::Int(count) => i64::from(count),
            Self::Percent(percent) => {
                let hundredths = i64::from(percent) * i64::from(total);
                let floor = hundredths.div_euclid(100);
                match round {
                    Round::Up if hundredths.rem_euclid(100) > 0 => floor + 1,
                    Round::Up | Round::Down => floor,
                }
            }
        }
    }
}

/// A text that is not a percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a number nor a percentage")]
pub struct NotAPercentage(String);

impl FromStr for IntOrPercent {
    type Err = NotAPercentage;

    /// Reads digits and a percent sign, the only text that the API server stores. A percentage too large for 32 bits,
    /// which it stores too, becomes the largest one.
    fn from_str(text: &str) -> Result<Self, NotAPercentage> {
        let digits = text
            .strip_suffix('%')
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .ok_or_else(|| NotAPercentage(text.to_owned()))?;
        Ok(Self::Percent(digits.parse().unwrap_or(i32::MAX)))
    }
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Serialize for IntOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(count) => serializer.serialize_i32(*count),
            Self::Percent(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText)
    }
}

struct NumberOrText;

impl Visitor<'_> for NumberOrText {
    type Value = IntOrPercent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a 32-bit number or a percentage")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<IntOrPercent, E> {
        i32::try_from(number).map(IntOrPercent::Int).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<IntOrPercent, E> {
        i32::try_from(number).map(IntOrPercent::Int).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<IntOrPercent, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    // proves: deployment/D-30
    #[rstest]
    #[case::one("25%", 1, 1, 0)]
    #[case::three("25%", 3, 1, 0)]
    #[case::four("25%", 4, 1, 1)]
    #[case::five("25%", 5, 2, 1)]
    #[case::ten("25%", 10, 3, 2)]
    #[case::fifteen("25%", 15, 4, 3)]
    #[case::twenty("25%", 20, 5, 5)]
    #[case::of_nothing("25%", 0, 0, 0)]
    #[case::nothing("0%", 10, 0, 0)]
    #[case::more_than_all("150%", 3, 5, 4)]
    fn surge_rounds_up_and_unavailability_rounds_down(
        #[case] text: &str,
        #[case] total: i32,
        #[case] up: i64,
        #[case] down: i64,
    ) {
        let share: IntOrPercent = text.parse().unwrap();
        assert_eq!(share.scaled(total, Round::Up), up);
        assert_eq!(share.scaled(total, Round::Down), down);
    }

    #[rstest]
    #[case::number("3", Some(IntOrPercent::Int(3)))]
    #[case::percentage("\"25%\"", Some(IntOrPercent::Percent(25)))]
    #[case::huge("\"99999999999%\"", Some(IntOrPercent::Percent(i32::MAX)))]
    #[case::number_as_text("\"3\"", None)]
    #[case::sign("\"-1%\"", None)]
    #[case::bare_sign("\"%\"", None)]
    #[case::words("\"a%\"", None)]
    #[case::too_large("3000000000", None)]
    #[case::fraction("1.5", None)]
    #[case::null("null", None)]
    fn json_is_a_number_or_a_percentage(#[case] json: &str, #[case] expected: Option<IntOrPercent>) {
        let read: Result<IntOrPercent, _> = serde_json::from_str(json);
        assert_eq!(read.ok(), expected);
    }

    proptest! {
        #[test]
        fn rounding_up_and_down_enclose_the_exact_share(percent in 0..=i32::MAX, total in 0..=i32::MAX) {
            let share = IntOrPercent::Percent(percent);
            let (up, down) = (share.scaled(total, Round::Up), share.scaled(total, Round::Down));
            let exact = i128::from(percent) * i128::from(total);
            prop_assert!(i128::from(down) * 100 <= exact && exact <= i128::from(up) * 100);
            prop_assert!(up - down == i64::from(exact % 100 != 0));
        }

        #[test]
        fn what_is_written_is_read_back(count in any::<i32>(), percent in 0..=i32::MAX) {
            for value in [IntOrPercent::Int(count), IntOrPercent::Percent(percent)] {
                let json = serde_json::to_string(&value).unwrap();
                prop_assert_eq!(serde_json::from_str::<IntOrPercent>(&json).unwrap(), value);
            }
        }
    }
}
