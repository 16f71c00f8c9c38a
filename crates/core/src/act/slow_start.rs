//! Slow start: how many creates are tried at once (deployment C-40).

/// Sizes of the batches in which `total` creates are sent: 1, 2, 4, … while everything succeeds.
pub fn batches(total: usize) -> impl Iterator<Item = usize> {
    let mut left = total;
    let mut size = 1;
    std::iter::from_fn(move || {
        let batch = size.min(left);
        left -= batch;
        size = size.saturating_mul(2);
        (batch > 0).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::batches;
    use proptest::prelude::*;

    fn check(total: usize, expected: &[usize]) {
        assert_eq!(batches(total).collect::<Vec<_>>(), expected);
    }

    // proves: deployment/C-40
    #[test]
    fn batches_double_until_nothing_is_left() {
        check(0, &[]);
        check(1, &[1]);
        check(10, &[1, 2, 4, 3]);
        check(500, &[1, 2, 4, 8, 16, 32, 64, 128, 245]);
    }

    proptest! {
        // proves: deployment/C-40
        #[test]
        fn batches_cover_everything_in_logarithmic_number(total in 1_usize..100_000) {
            let sizes: Vec<_> = batches(total).collect();
            prop_assert_eq!(sizes.iter().sum::<usize>(), total);
            prop_assert_eq!(u32::try_from(sizes.len()).unwrap(), 1 + total.ilog2());
        }
    }
}
