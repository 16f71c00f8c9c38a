//! The forms that values of opt-ins have.

use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

use crate::number::IntOrPercent;

/// Something that is asked for or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    /// Not asked for: upstream's behaviour.
    #[default]
    Off,
    /// Asked for.
    On,
}

impl FromStr for Switch {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "true" => Ok(Self::On),
            "false" => Ok(Self::Off),
            _ => Err("neither \"true\" nor \"false\""),
        }
    }
}

/// A number of replicas, or a percentage of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub IntOrPercent);

impl FromStr for Amount {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let amount = if text.ends_with('%') {
            let percent = text.parse().ok();
            percent.filter(|percent| matches!(percent, IntOrPercent::Percent(0..=100)))
        } else {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok().map(IntOrPercent::Int)).flatten()
        };
        amount.map(Self).ok_or("neither a number nor a percentage up to 100%")
    }
}

/// A time span above zero, such as `90s` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub Duration);

impl FromStr for Wait {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let span: SignedDuration = text.parse().map_err(|_| "not a duration such as 30s or 5m")?;
        Duration::try_from(span)
            .ok()
            .filter(|span| !span.is_zero())
            .map(Self)
            .ok_or("not above zero")
    }
}

/// Waits that double from one failure to the next, written `<base>[,<cap>]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure.
    pub base: Duration,
    /// The longest wait.
    pub cap: Duration,
}

impl Backoff {
    /// The longest wait if only the first is given, unless that is longer.
    pub const DEFAULT_CAP: Duration = Duration::from_mins(5);

    /// The wait after this many failures in a row.
    pub fn after(self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else {
            return Duration::ZERO;
        };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }
}

impl FromStr for Backoff {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (base, cap) = match text.split_once(',') {
            None => (text, None),
            Some((base, cap)) => (base, Some(cap)),
        };
        let Wait(base) = base.trim().parse()?;
        let cap = match cap {
            None => base.max(Self::DEFAULT_CAP),
            Some(cap) => cap.trim().parse::<Wait>()?.0,
        };
        if cap < base {
            return Err("the longest wait is shorter than the first");
        }
        Ok(Self { base, cap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", Some(IntOrPercent::Int(0)))]
    #[case("7", Some(IntOrPercent::Int(7)))]
    #[case("2147483647", Some(IntOrPercent::Int(i32::MAX)))]
    #[case("2147483648", None)]
    #[case("30%", Some(IntOrPercent::Percent(30)))]
    #[case("100%", Some(IntOrPercent::Percent(100)))]
    #[case("101%", None)]
    #[case("-1", None)]
    #[case("+1", None)]
    #[case("1.5", None)]
    #[case("%", None)]
    #[case("", None)]
    #[case(" 3", None)]
    fn an_amount_is_a_number_or_a_percentage(#[case] text: &str, #[case] expected: Option<IntOrPercent>) {
        assert_eq!(text.parse().ok(), expected.map(Amount));
    }

    #[rstest]
    #[case("30s", Some(30_000))]
    #[case("1m30s", Some(90_000))]
    #[case("250ms", Some(250))]
    #[case("2h", Some(7_200_000))]
    #[case("0s", None)]
    #[case("-5s", None)]
    #[case("30", None)]
    #[case("", None)]
    #[case("soon", None)]
    fn a_wait_has_a_unit_and_is_above_zero(#[case] text: &str, #[case] millis: Option<u64>) {
        assert_eq!(
            text.parse().ok(),
            millis.map(|millis| Wait(Duration::from_millis(millis)))
        );
    }

    #[rstest]
    #[case("10s", Some((10, 300)))]
    #[case("10m", Some((600, 600)))]
    #[case("10s,1m", Some((10, 60)))]
    #[case("10s, 1m", Some((10, 60)))]
    #[case("10s,10s", Some((10, 10)))]
    #[case("10s,5s", None)]
    #[case("10s,", None)]
    #[case(",10s", None)]
    #[case("10s,1m,2m", None)]
    fn a_backoff_has_a_first_and_a_longest_wait(#[case] text: &str, #[case] expected: Option<(u64, u64)>) {
        let expected = expected.map(|(base, cap)| Backoff {
            base: Duration::from_secs(base),
            cap: Duration::from_secs(cap),
        });
        assert_eq!(text.parse().ok(), expected);
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let backoff: Backoff = "10s,1m".parse().unwrap();
        let waits = [0, 1, 2, 3, 4, 40, u32::MAX].map(|failures| backoff.after(failures).as_secs());
        assert_eq!(waits, [0, 10, 20, 40, 60, 60, 60]);
    }
}
