//! Where in a pod template two ways of writing mean the same.
//!
//! A template is compared as JSON, so that fields of releases to come count too. Upstream compares decoded structs, in
//! which an empty map equals an absent one, a struct that is not behind a pointer is always there, and `1` equals `1000m`.
//! This table lists the places where that makes a difference; everywhere else `{}` differs from nothing (`emptyDir: {}`).

/// What stands at a place, as far as comparing is concerned. A list has the place of its elements.
#[derive(Debug)]
pub(super) enum Place {
    /// Compared as it is.
    Plain,
    /// A map of strings: an empty one is as good as none.
    Map,
    /// The labels of the pod: a map in which the hash label does not count.
    PodLabels,
    /// A quantity, compared by value.
    Quantity,
    /// A quantity that is never absent: 0 is as good as none.
    DefaultZero,
    /// A map of quantities.
    Quantities,
    /// An object that may be absent: an empty one differs from none.
    Object(&'static Fields),
    /// An object that is never absent: an empty one is as good as none.
    Part(&'static Fields),
}

/// The fields of an object that are not [`Place::Plain`].
pub(super) type Fields = [(&'static str, Place)];

use Place::{DefaultZero, Map, Object, Part, PodLabels, Quantities, Quantity};

/// A pod template.
pub(super) const TEMPLATE: Place = Object(&[
    ("metadata", Part(&[("labels", PodLabels), ("annotations", Map)])),
    (
        "spec",
        Part(&[
            ("nodeSelector", Map),
            ("overhead", Quantities),
            ("resources", Object(RESOURCES)),
            ("initContainers", CONTAINERS),
            ("containers", CONTAINERS),
            ("ephemeralContainers", CONTAINERS),
            ("volumes", VOLUMES),
            ("affinity", AFFINITY),
            ("topologySpreadConstraints", Object(&[("labelSelector", SELECTOR)])),
        ]),
    ),
]);

const RESOURCES: &Fields = &[("limits", Quantities), ("requests", Quantities)];

const SELECTOR: Place = Object(&[("matchLabels", Map)]);

const RESOURCE_FIELD: (&str, Place) = ("resourceFieldRef", Object(&[("divisor", DefaultZero)]));

const DOWNWARD_API: (&str, Place) = ("downwardAPI", Object(&[("items", Object(&[RESOURCE_FIELD]))]));

const CONTAINERS: Place = Object(&[
    ("env", Object(&[("valueFrom", Object(&[RESOURCE_FIELD]))])),
    ("resources", Part(RESOURCES)),
]);

const VOLUMES: Place = Object(&[
    ("emptyDir", Object(&[("sizeLimit", Quantity)])),
    ("csi", Object(&[("volumeAttributes", Map)])),
    ("flexVolume", Object(&[("options", Map)])),
    DOWNWARD_API,
    (
        "projected",
        Object(&[(
            "sources",
            Object(&[
                DOWNWARD_API,
                ("clusterTrustBundle", Object(&[("labelSelector", SELECTOR)])),
                ("podCertificate", Object(&[("userAnnotations", Map)])),
            ]),
        )]),
    ),
    ("ephemeral", Object(&[("volumeClaimTemplate", CLAIM)])),
]);

const CLAIM: Place = Object(&[
    ("metadata", Part(&[("labels", Map), ("annotations", Map)])),
    ("spec", Part(&[("selector", SELECTOR), ("resources", Part(RESOURCES))])),
]);

const AFFINITY: Place = Object(&[
    (
        "nodeAffinity",
        Object(&[(PREFERRED, Object(&[("preference", Part(&[]))]))]),
    ),
    ("podAffinity", POD_AFFINITY),
    ("podAntiAffinity", POD_AFFINITY),
]);

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

const POD_AFFINITY: Place = Object(&[
    ("requiredDuringSchedulingIgnoredDuringExecution", Object(AFFINITY_TERM)),
    (PREFERRED, Object(&[("podAffinityTerm", Part(AFFINITY_TERM))])),
]);

const AFFINITY_TERM: &Fields = &[("labelSelector", SELECTOR), ("namespaceSelector", SELECTOR)];

/// The place of `key` in an object with these fields.
pub(super) fn place_of(fields: &'static Fields, key: &str) -> &'static Place {
    fields
        .iter()
        .find(|(name, _)| *name == key)
        .map_or(&Place::Plain, |(_, place)| place)
}
