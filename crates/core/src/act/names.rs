//! Names of new objects, chosen here instead of by the server so that a create can be repeated (deployment A-9, C-71).

use std::sync::Arc;

use crate::chance::Chance;
use crate::plan::NewName;

/// The letters that the server itself uses for generated names: no vowels, nothing that looks like another.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Length of the random part.
const SUFFIX: usize = 5;
/// Longest base that is kept; the server cuts a longer `generateName` here too.
const MAX_BASE: usize = 58;
/// How often another suffix is tried when the chosen name belongs to somebody else.
pub const ATTEMPTS: usize = 8;

/// A name for a new object; another one at each call if the name is random.
pub fn choose(name: &NewName, chance: &Chance) -> Arc<str> {
    match name {
        NewName::Exact(name) => Arc::clone(name),
        NewName::Random(base) => with_suffix(base, chance),
    }
}

fn with_suffix(base: &str, chance: &Chance) -> Arc<str> {
    let mut name = cut(base).to_owned();
    for _ in 0..SUFFIX {
        name.extend(chance.pick(ALPHABET).copied().map(char::from));
    }
    name.into()
}

/// Object names are ASCII; a base that is not is refused by the server, not here.
fn cut(base: &str) -> &str {
    let end = base
        .char_indices()
        .map(|(at, _)| at)
        .chain([base.len()])
        .take_while(|at| *at <= MAX_BASE)
        .last();
    base.get(..end.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(base: &str) -> Arc<str> {
        choose(&NewName::Random(base.into()), &Chance::system())
    }

    // proves: deployment/A-9
    #[test]
    fn random_names_are_base_and_five_letters_of_the_servers_alphabet() {
        let name = random("web-");
        let suffix = name.strip_prefix("web-").unwrap();
        assert_eq!(suffix.len(), 5);
        assert!(suffix.bytes().all(|byte| ALPHABET.contains(&byte)));
        assert_eq!(random(&"a".repeat(70)).len(), 63);
        assert_ne!(random("web-"), random("web-"));
    }

    #[test]
    fn exact_names_stay() {
        assert_eq!(
            &*choose(&NewName::Exact("web-7f9c".into()), &Chance::system()),
            "web-7f9c"
        );
    }

    #[test]
    fn a_base_is_never_cut_inside_a_letter() {
        assert_eq!(cut(&"ä".repeat(40)).len(), 58);
    }
}
