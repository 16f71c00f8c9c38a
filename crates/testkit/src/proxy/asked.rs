//! What a request asks of the API server.

use http::{Method, Uri};
use workload_core::id::Kind;

/// The verbs of the API server that a controller uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read all objects.
    List,
    /// Follow objects.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE, of one object or all.
    Delete,
}

impl Verb {
    /// True for whatever changes something.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// The target of a request, taken from its method and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What is to be done.
    pub verb: Verb,
    /// Plural of the kind; empty for what is no object, such as `/version`.
    pub plural: String,
    /// Name of the object; empty for a collection.
    pub name: String,
    /// Such as `status`; empty for the object itself.
    pub subresource: String,
    /// Path and query.
    pub address: String,
}

impl Asked {
    /// Reads a request's method and address.
    pub(crate) fn of(method: &Method, uri: &Uri) -> Self {
        let mut parts = uri.path().split('/').filter(|part| !part.is_empty());
        // `api/v1` or `apis/group/version`.
        let groups = if parts.next() == Some("api") { 1 } else { 2 };
        let mut parts = parts.skip(groups).peekable();
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let mut plural = next();
        let mut name = next();
        let mut subresource = next();
        if plural == "namespaces" && !subresource.is_empty() {
            (plural, name, subresource) = (subresource, next(), next());
        }
        let query = uri.query().unwrap_or_default();
        let watches = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
        let verb = match *method {
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE => Verb::Delete,
            _ if watches => Verb::Watch,
            _ if name.is_empty() => Verb::List,
            _ => Verb::Get,
        };
        Self {
            verb,
            plural,
            name,
            subresource,
            address: uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        }
    }
}

/// Which requests a fault or a question is about.
#[derive(Clone, Debug, Default)]
pub struct Which {
    verbs: Vec<Verb>,
    target: Option<(Kind, &'static str)>,
    query: &'static str,
}

impl Which {
    /// Every request.
    pub fn all() -> Self {
        Self::default()
    }

    /// Requests with one of these verbs.
    pub fn verbs(verbs: &[Verb]) -> Self {
        Self {
            verbs: verbs.to_vec(),
            ..Self::default()
        }
    }

    /// Whatever changes something.
    pub fn writes() -> Self {
        Self::verbs(&[Verb::Create, Verb::Update, Verb::Patch, Verb::Delete])
    }

    /// Watches.
    pub fn watches() -> Self {
        Self::verbs(&[Verb::Watch])
    }

    /// Creates.
    pub fn creates() -> Self {
        Self::verbs(&[Verb::Create])
    }

    /// Deletes.
    pub fn deletes() -> Self {
        Self::verbs(&[Verb::Delete])
    }

    /// Of those, the ones about objects of this kind themselves.
    #[must_use]
    pub fn of(self, kind: Kind) -> Self {
        self.part_of(kind, "")
    }

    /// Of those, the ones about a subresource such as `status`.
    #[must_use]
    pub fn part_of(self, kind: Kind, subresource: &'static str) -> Self {
        Self {
            target: Some((kind, subresource)),
            ..self
        }
    }

    /// Of those, the ones whose address contains this.
    #[must_use]
    pub fn with(self, query: &'static str) -> Self {
        Self { query, ..self }
    }

    pub(crate) fn fits(&self, asked: &Asked) -> bool {
        let verb = self.verbs.is_empty() || self.verbs.contains(&asked.verb);
        let target = self
            .target
            .is_none_or(|(kind, part)| kind.plural == asked.plural && part == asked.subresource);
        verb && target && asked.address.contains(self.query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &Method, uri: &str) -> Asked {
        Asked::of(method, &uri.parse().unwrap())
    }

    #[test]
    fn verb_kind_and_name_are_read_from_the_address() {
        let pods = "/api/v1/namespaces/shop/pods";
        let sets = "/apis/apps/v1/namespaces/shop/replicasets";
        for (method, uri, verb, target) in [
            (Method::GET, pods.to_owned(), Verb::List, ("pods", "", "")),
            (
                Method::GET,
                format!("{pods}?limit=1&watch=true"),
                Verb::Watch,
                ("pods", "", ""),
            ),
            (
                Method::GET,
                "/api/v1/pods?watch=1".to_owned(),
                Verb::Watch,
                ("pods", "", ""),
            ),
            (
                Method::GET,
                format!("{sets}/web"),
                Verb::Get,
                ("replicasets", "web", ""),
            ),
            (
                Method::POST,
                format!("{sets}?fieldManager=x"),
                Verb::Create,
                ("replicasets", "", ""),
            ),
            (
                Method::PATCH,
                format!("{sets}/web/status"),
                Verb::Patch,
                ("replicasets", "web", "status"),
            ),
            (Method::DELETE, format!("{pods}/web"), Verb::Delete, ("pods", "web", "")),
            (
                Method::GET,
                "/api/v1/namespaces/shop".to_owned(),
                Verb::Get,
                ("namespaces", "shop", ""),
            ),
        ] {
            let found = asked(&method, &uri);
            let place = (&*found.plural, &*found.name, &*found.subresource);
            assert_eq!((found.verb, place), (verb, target), "{uri}");
        }
    }

    #[test]
    fn a_choice_of_requests_is_as_narrow_as_it_says() {
        let create = asked(&Method::POST, "/api/v1/namespaces/shop/pods");
        let status = asked(&Method::PATCH, "/apis/apps/v1/namespaces/shop/replicasets/web/status");
        let watch = asked(&Method::GET, "/api/v1/pods?watch=true&resourceVersion=5");
        let fits = |which: &Which| [&create, &status, &watch].map(|asked| which.fits(asked));
        assert_eq!(fits(&Which::all()), [true, true, true]);
        assert_eq!(fits(&Which::writes()), [true, true, false]);
        assert_eq!(fits(&Which::writes().of(Kind::REPLICA_SET)), [false, false, false]);
        assert_eq!(
            fits(&Which::writes().part_of(Kind::REPLICA_SET, "status")),
            [false, true, false]
        );
        assert_eq!(
            fits(&Which::watches().of(Kind::POD).with("resourceVersion=")),
            [false, false, true]
        );
        assert_eq!(fits(&Which::creates().of(Kind::POD)), [true, false, false]);
    }
}
