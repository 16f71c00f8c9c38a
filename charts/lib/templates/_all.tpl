{{/*
Everything a controller's chart installs. A thin chart calls this with its root context and brings
files/controller.yaml (what its controller is) and files/rules.yaml (what its controller may do).
*/}}
{{- define "workload-lib.all" -}}
{{- include "workload-lib.refuse" . }}
{{- include "workload-lib.serviceAccount" . }}
{{- include "workload-lib.clusterRole" . }}
{{- include "workload-lib.leaseRole" . }}
{{- if ne .Values.workload "None" }}
{{- include "workload-lib.workload" . }}
{{- include "workload-lib.disruptionBudget" . }}
{{- include "workload-lib.service" . }}
{{- include "workload-lib.serviceMonitor" . }}
{{- include "workload-lib.networkPolicy" . }}
{{- end }}
{{- end }}

{{/* The parsed files/controller.yaml, as YAML for fromYaml. */}}
{{- define "workload-lib.controller" -}}
{{- .Files.Get "files/controller.yaml" }}
{{- end }}

{{/*
Stops the rendering where values fit the schema one by one and yet must not go together.

A pod that is alone in re-creating lost pods of the kind it is hosted by is never re-created itself.
*/}}
{{- define "workload-lib.refuse" -}}
{{- $controller := include "workload-lib.controller" . | fromYaml }}
{{- $loop := get (default dict $controller.hosting) .Values.workload }}
{{- if and $loop (has $loop (include "workload-lib.loops" . | fromYamlArray)) }}
{{- fail (printf "workload: %s is refused: lost pods of a %s are replaced by the loop %q, which would run only in those pods. Choose another workload, or leave %q out of args.controllers." .Values.workload .Values.workload $loop $loop) }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.service.enabled) }}
{{- fail "serviceMonitor.enabled needs service.enabled: a ServiceMonitor finds the pods through their Service." }}
{{- end }}
{{- end }}

{{/* The loops that will run, as a YAML list: those chosen, else all of this controller. */}}
{{- define "workload-lib.loops" -}}
{{- $controller := include "workload-lib.controller" . | fromYaml }}
{{- default (keys $controller.loops | sortAlpha) .Values.args.controllers | toYaml }}
{{- end }}
