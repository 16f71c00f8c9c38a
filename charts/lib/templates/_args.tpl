{{/*
Command line of the controller: each key of `args` is the flag of that name (maxInflightWrites is
--max-inflight-writes), null leaves the flag to the binary. Takes a dict: root, and flags to add.
*/}}
{{- define "workload-lib.args" -}}
{{- $flags := merge (dict "adminAddr" (include "workload-lib.adminAddr" .root)) (default dict .add) .root.Values.args }}
{{- range $name := keys $flags | sortAlpha }}
{{- $value := get $flags $name }}
{{- if not (kindIs "invalid" $value) }}
- {{ printf "--%s=%s" (kebabcase $name) (include "workload-lib.flagValue" $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* A value as the command line takes it: lists joined by commas, whole numbers without an exponent. */}}
{{- define "workload-lib.flagValue" -}}
{{- if kindIs "slice" . }}
{{- join "," . }}
{{- else if and (kindIs "float64" .) (eq (float64 (int64 .)) .) }}
{{- int64 . }}
{{- else }}
{{- . }}
{{- end }}
{{- end }}

{{/* Pods that share the node's network offer probes and metrics to the node alone. */}}
{{- define "workload-lib.adminAddr" -}}
{{- $own := ternary "127.0.0.1" "0.0.0.0" (eq (include "workload-lib.onHostNetwork" .) "true") }}
{{- printf "%s:%d" (default $own .Values.admin.host) (int .Values.admin.port) }}
{{- end }}

{{/* "true" for pods on the node's network; a static pod always is, like the control plane's own. */}}
{{- define "workload-lib.onHostNetwork" -}}
{{- or .Values.hostNetwork (eq .Values.workload "StaticPod") }}
{{- end }}
