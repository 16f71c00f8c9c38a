//! Quantities such as `100m`, `1.5Gi` and `3e6`, to compare them by value.

/// The value of a quantity in billionths, the unit to which the API server rounds, away from zero. `None` for a text that
/// is not a quantity, or one so large that no server would have written it this way.
pub(super) fn billionths(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let suffix_at = unsigned
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at_checked(suffix_at)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let unit = Unit::of(suffix)?;
    let exponent = unit
        .exponent
        .checked_add(9)?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let value = scaled(digits.checked_mul(1 << unit.shift)?, exponent)?;
    Some(if negative { -value } else { value })
}

/// `digits`·10^`exponent`, rounded up.
fn scaled(digits: i128, exponent: i32) -> Option<i128> {
    if digits == 0 {
        return Some(0);
    }
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    if exponent >= 0 {
        return digits.checked_mul(power?);
    }
    Some(power.map_or(1, |power| digits / power + i128::from(digits % power != 0)))
}

/// What a suffix multiplies by: 2^`shift`·10^`exponent`.
struct Unit {
    shift: u32,
    exponent: i32,
}

impl Unit {
    fn of(suffix: &str) -> Option<Self> {
        let binary = |shift| Some(Self { shift, exponent: 0 });
        let decimal = |exponent| Some(Self { shift: 0, exponent });
        match suffix {
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            _ => decimal(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    // proves: deployment/D-6, deployment/I-8
    #[rstest]
    #[case::plain("1", Some(1_000_000_000))]
    #[case::thousandths("1000m", Some(1_000_000_000))]
    #[case::fraction("0.1", Some(100_000_000))]
    #[case::leading_point(".5", Some(500_000_000))]
    #[case::trailing_point("2.", Some(2_000_000_000))]
    #[case::leading_zeros("007", Some(7_000_000_000))]
    #[case::negative("-2k", Some(-2_000_000_000_000))]
    #[case::plus("+1", Some(1_000_000_000))]
    #[case::zero("0", Some(0))]
    #[case::zero_with_a_suffix("0Gi", Some(0))]
    #[case::binary("1.5Ki", Some(1_536_000_000_000))]
    #[case::exa("1E", Some(1_000_000_000_000_000_000_000_000_000))]
    #[case::exponent("1E3", Some(1_000_000_000_000))]
    #[case::small_exponent("15e-1", Some(1_500_000_000))]
    #[case::signed_exponent("1e+3", Some(1_000_000_000_000))]
    #[case::too_fine_rounds_up("0.1n", Some(1))]
    #[case::too_fine_rounds_away_from_zero("-1.5n", Some(-2))]
    #[case::far_too_fine("1e-99", Some(1))]
    #[case::far_too_large("1e99", None)]
    #[case::nothing("", None)]
    #[case::sign_alone("-", None)]
    #[case::point_alone(".", None)]
    #[case::suffix_alone("Mi", None)]
    #[case::unknown_suffix("1Kb", None)]
    #[case::two_points("1.2.3", None)]
    #[case::two_signs("--1", None)]
    #[case::spaces(" 1", None)]
    #[case::beyond_ascii("1\u{b5}", None)]
    fn quantities_have_a_value(#[case] text: &str, #[case] expected: Option<i128>) {
        assert_eq!(billionths(text), expected);
    }

    proptest! {
        // proves: deployment/I-8
        #[test]
        fn ways_of_writing_one_quantity_have_one_value(count in 0_i64..1_000_000_000_000) {
            let value = billionths(&count.to_string());
            prop_assert_eq!(billionths(&format!("{count}000m")), value);
            prop_assert_eq!(billionths(&format!("{count}e0")), value);
            prop_assert_eq!(billionths(&format!("{count}Ki")), billionths(&(count * 1024).to_string()));
            prop_assert_eq!(billionths(&format!("{count}.0")), value);
        }

        #[test]
        fn no_text_is_too_strange(text in ".{0,12}|[-+]?[0-9.]{0,9}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,3}") {
            billionths(&text);
        }
    }
}
