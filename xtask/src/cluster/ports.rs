//! Free TCP ports on the loopback address.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail};

/// Below the ranges from which systems take ports for outgoing connections, so that nobody gets one by chance
/// between our look and the component's start.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// `N` ports on which nobody listens. `seed` spreads clusters that start at the same time.
pub(super) fn free<const N: usize>(seed: u32) -> Result<[u16; N]> {
    let mut ports = [0; N];
    let mut free = candidates(seed).filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    for port in &mut ports {
        let Some(found) = free.next() else {
            bail!("no free port from {FIRST} to {}", FIRST + COUNT - 1);
        };
        *port = found;
    }
    Ok(ports)
}

fn candidates(seed: u32) -> impl Iterator<Item = u16> {
    // A multiplier without a common divisor with COUNT: neighbouring process ids start far apart.
    let start = seed.wrapping_mul(7_919) % u32::from(COUNT);
    (0..COUNT).map(move |step| {
        let offset = (start + u32::from(step)) % u32::from(COUNT);
        FIRST + u16::try_from(offset).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_port_of_the_range_is_tried_once() {
        for seed in [0, 1, u32::MAX] {
            let all: BTreeSet<u16> = candidates(seed).collect();
            assert_eq!(all.len(), usize::from(COUNT));
            assert_eq!(all.first().copied(), Some(FIRST));
            assert_eq!(all.last().copied(), Some(FIRST + COUNT - 1));
        }
    }

    #[test]
    fn clusters_started_together_look_in_different_places() {
        let first = |seed| candidates(seed).next().unwrap();
        assert!(first(1).abs_diff(first(2)) > 100);
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let [port] = free::<1>(77).unwrap();
        let _held = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let ports = free::<3>(77).unwrap();
        assert!(!ports.contains(&port), "{ports:?}");
        assert_eq!(BTreeSet::from(ports).len(), 3);
    }
}
