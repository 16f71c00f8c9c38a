//! How kinds differ.

use workload_core::id::Kind;

use crate::api::{EVENT, LEASE, POD_DISRUPTION_BUDGET};

/// What the server has to know about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The kind.
    pub kind: Kind,
    /// What makes `metadata.generation` grow.
    pub(super) generation: Generation,
    /// What a write of the status may change beside it.
    pub(super) status: StatusWrites,
    /// Where its rules come from.
    pub(super) origin: Origin,
}

/// What makes `metadata.generation` grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// There is none.
    Absent,
    /// A change of the spec.
    Spec,
    /// A change of the spec or of an annotation (deployment A-2).
    SpecAndAnnotations,
    /// A change of anything but metadata and status.
    Content,
}

/// What a write to `/status` may change beside the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusWrites {
    /// There is no such subresource; a status is a field like any other.
    Absent,
    /// Metadata.
    Metadata,
    /// Metadata but the labels (deployment A-3).
    MetadataButLabels,
    /// Metadata but owner references.
    MetadataButOwners,
    /// Nothing.
    Nothing,
}

/// Where the rules of a kind come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Compiled into the API server.
    BuiltIn,
    /// A CustomResourceDefinition with a status subresource.
    Custom,
}

impl Resource {
    const fn built_in(kind: Kind, generation: Generation, status: StatusWrites) -> Self {
        Self {
            kind,
            generation,
            status,
            origin: Origin::BuiltIn,
        }
    }

    const fn custom(kind: Kind) -> Self {
        Self {
            kind,
            generation: Generation::Content,
            status: StatusWrites::Nothing,
            origin: Origin::Custom,
        }
    }

    /// As messages call it: `pods`, `deployments.apps`.
    pub(super) fn plural(&self) -> String {
        qualified(self.kind.plural, self.kind.group)
    }

    /// As messages about its content call it: `Pod`, `Deployment.apps`.
    pub(super) fn singular(&self) -> String {
        qualified(self.kind.kind, self.kind.group)
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

/// The kinds that are built in.
pub(super) const BUILT_IN: [Resource; 7] = [
    Resource::built_in(
        Kind::DEPLOYMENT,
        Generation::SpecAndAnnotations,
        StatusWrites::MetadataButLabels,
    ),
    Resource::built_in(Kind::REPLICA_SET, Generation::Spec, StatusWrites::Metadata),
    Resource::built_in(Kind::JOB, Generation::Spec, StatusWrites::Metadata),
    Resource::built_in(Kind::POD, Generation::Spec, StatusWrites::MetadataButOwners),
    Resource::built_in(EVENT, Generation::Absent, StatusWrites::Absent),
    Resource::built_in(LEASE, Generation::Absent, StatusWrites::Absent),
    Resource::built_in(POD_DISRUPTION_BUDGET, Generation::Spec, StatusWrites::Metadata),
];

/// All kinds that a server knows.
#[derive(Clone, Debug)]
pub(super) struct Kinds(Vec<Resource>);

impl Kinds {
    pub(super) fn with(custom: &[Kind]) -> Self {
        let custom = custom.iter().copied().map(Resource::custom);
        Self(BUILT_IN.into_iter().chain(custom).collect())
    }

    pub(super) fn all(&self) -> &[Resource] {
        &self.0
    }

    /// What is known about a kind of this server.
    pub(super) fn of(&self, kind: Kind) -> Resource {
        let found = self.0.iter().find(|resource| resource.kind == kind);
        *found.unwrap_or_else(|| panic!("the server has no kind {kind}"))
    }

    /// The kind that an owner reference names.
    pub(super) fn named(&self, api_version: &str, kind: &str) -> Option<Kind> {
        let kinds = self.0.iter().map(|resource| resource.kind);
        kinds
            .into_iter()
            .find(|known| known.kind == kind && known.has_group_of(api_version))
    }
}
