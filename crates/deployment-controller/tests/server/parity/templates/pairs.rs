//! Edits of templates, and whether they say the same (`=`) or need a new ReplicaSet (`!`).
//!
//! A row: the mark, a name, where in the template, the value before, `->`, the value after. Without a value before the field
//! was not there.

/// Null, empty and absent are one for lists, maps and plain values, but not for optional objects and optional booleans.
pub(super) const EMPTY: &str = r#"
= no-env                 /spec/containers/0/env -> []
= null-env               /spec/containers/0/env -> null
= no-command             /spec/containers/0/command -> []
= no-resources           /spec/containers/0/resources -> {}
= no-limits              /spec/containers/0/resources -> {"limits": {}, "requests": null}
= no-init-containers     /spec/initContainers -> []
= no-volumes             /spec/volumes -> null
= no-node-selector       /spec/nodeSelector -> {}
= no-tolerations         /spec/tolerations -> []
= no-annotations         /metadata/annotations -> {}
= no-creation-time       /metadata/creationTimestamp -> null
= empty-pod-context      /spec/securityContext -> {}
= no-host-network        /spec/hostNetwork -> false
= no-priority-class      /spec/priorityClassName -> ""
= no-medium              /spec/volumes [{"name": "v", "emptyDir": {}}] -> [{"name": "v", "emptyDir": {"medium": ""}}]
= no-source              /spec/volumes [{"name": "v", "emptyDir": {}}] -> [{"name": "v"}]
= empty-value            /spec/containers/0/env [{"name": "A"}] -> [{"name": "A", "value": ""}]
= field-of-nobody        /spec/fieldOfNobody -> 1
! empty-context          /spec/containers/0/securityContext -> {}
! empty-affinity         /spec/affinity -> {}
! not-shared             /spec/shareProcessNamespace -> false
! host-users             /spec/hostUsers -> true
! no-token               /spec/automountServiceAccountToken -> false
! empty-in-affinity      /spec/affinity {} -> {"nodeAffinity": {}}
! not-read-only          /spec/containers/0/securityContext {} -> {"readOnlyRootFilesystem": false}
"#;

/// Quantities are compared by value where the server knows them as such.
pub(super) const QUANTITIES: &str = r#"
= half-a-core            /spec/containers/0/resources/requests/cpu "0.5" -> "500m"
= one-core               /spec/containers/0/resources/requests/cpu 1 -> "1000m"
= trailing-zero          /spec/containers/0/resources/requests/cpu "1.50" -> "1.5"
= a-gibibyte             /spec/containers/0/resources/requests/memory "1Gi" -> "1024Mi"
= gibibyte-in-digits     /spec/containers/0/resources/requests/memory "1Gi" -> "1073741824"
= kilobyte-as-exponent   /spec/containers/0/resources/requests/memory "1k" -> "1e3"
= bytes-as-number        /spec/containers/0/resources/requests/memory 1024 -> "1Ki"
! gigabyte-is-no-gibibyte /spec/containers/0/resources/requests/memory "1Gi" -> "1G"
! a-little-more          /spec/containers/0/resources/requests/cpu "500m" -> "501m"
= limits-by-value        /spec/containers/0/resources {"limits": {"memory": "1Ki", "example.com/thing": "1"}} -> {"limits": {"memory": "1024", "example.com/thing": 1}}
= init-by-value          /spec/initContainers [{"name": "i", "image": "a", "resources": {"requests": {"memory": "1Ki"}}}] -> [{"name": "i", "image": "a", "resources": {"requests": {"memory": "1024"}}}]
= pod-by-value           /spec/resources/requests/memory "1Mi" -> "1048576"
= overhead-by-value      /spec/overhead {"memory": "1Ki"} -> {"memory": "1024"}
= size-limit-by-value    /spec/volumes [{"name": "v", "emptyDir": {"sizeLimit": "1Ki"}}] -> [{"name": "v", "emptyDir": {"sizeLimit": "1024"}}]
= claim-by-value         /spec/volumes [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ki"}}}}}}] -> [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024"}}}}}}]
= divisor-by-value       /spec/containers/0/env [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1"}}}] -> [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1000m"}}}]
! text-is-no-quantity    /metadata/annotations {"size": "1Ki"} -> {"size": "1024"}
! value-is-no-quantity   /spec/containers/0/env [{"name": "A", "value": "0.5"}] -> [{"name": "A", "value": "500m"}]
! requests-of-limits     /spec/containers/0/resources {"limits": {"cpu": "1"}} -> {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
"#;

/// The server's defaults, written out.
pub(super) const DEFAULTS: &str = r#"
= pull-policy            /spec/containers/0/imagePullPolicy -> "Always"
= message-path           /spec/containers/0/terminationMessagePath -> "/dev/termination-log"
= restart-policy         /spec/restartPolicy -> "Always"
= dns-policy             /spec/dnsPolicy -> "ClusterFirst"
= scheduler              /spec/schedulerName -> "default-scheduler"
= grace-period           /spec/terminationGracePeriodSeconds -> 30
= protocol               /spec/containers/0/ports [{"containerPort": 80}] -> [{"containerPort": 80, "protocol": "TCP"}]
= period                 /spec/containers/0/readinessProbe {"tcpSocket": {"port": 80}} -> {"tcpSocket": {"port": 80}, "periodSeconds": 10, "failureThreshold": 3}
= mode                   /spec/volumes [{"name": "v", "configMap": {"name": "c"}}] -> [{"name": "v", "configMap": {"name": "c", "defaultMode": 420}}]
= field-version          /spec/containers/0/env [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}] -> [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}}]
! service-links-on       /spec/enableServiceLinks -> true
! service-links-off      /spec/enableServiceLinks -> false
! other-pull-policy      /spec/containers/0/imagePullPolicy -> "IfNotPresent"
! other-grace-period     /spec/terminationGracePeriodSeconds -> 31
"#;

/// Orders, kinds of values, metadata, init containers, and fields that our controller has never heard of.
pub(super) const CHANGES: &str = r#"
! env-order              /spec/containers/0/env [{"name": "A"}, {"name": "B"}] -> [{"name": "B"}, {"name": "A"}]
! argument-order         /spec/containers/0/args ["a", "b"] -> ["b", "a"]
! container-order        /spec/containers [{"name": "x", "image": "a"}, {"name": "y", "image": "a"}] -> [{"name": "y", "image": "a"}, {"name": "x", "image": "a"}]
! port-by-name           /spec/containers/0/readinessProbe {"tcpSocket": {"port": 80}} -> {"tcpSocket": {"port": "http"}}
! annotation             /metadata/annotations -> {"restarted": "1"}
! annotation-removed     /metadata/annotations {"restarted": "1"} -> {}
! label                  /metadata/labels/tier -> "front"
= hash-label             /metadata/labels/pod-template-hash -> "mine"
! name                   /metadata/name -> "named"
! finalizer              /metadata/finalizers -> ["test/kept"]
! init-container         /spec/initContainers -> [{"name": "i", "image": "a"}]
! sidecar                /spec/initContainers [{"name": "i", "image": "a"}] -> [{"name": "i", "image": "a", "restartPolicy": "Always"}]
! system                 /spec/os -> {"name": "linux"}
! scheduling-gate        /spec/schedulingGates -> [{"name": "test/gate"}]
! hostname-override      /spec/hostnameOverride -> "other"
! pod-resources          /spec/resources -> {"requests": {"cpu": "1"}}
! resize-policy          /spec/containers/0/resizePolicy -> [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
! restart-of-one         /spec/containers/0/restartPolicy -> "Never"
! spread-order           /spec/topologySpreadConstraints [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}, {"maxSkew": 1, "topologyKey": "b", "whenUnsatisfiable": "ScheduleAnyway"}] -> [{"maxSkew": 1, "topologyKey": "b", "whenUnsatisfiable": "ScheduleAnyway"}, {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}]
! image-volume           /spec/volumes -> [{"name": "v", "image": {"reference": "a"}}]
! claim                  /spec/resourceClaims -> [{"name": "c", "resourceClaimName": "c"}]
"#;
