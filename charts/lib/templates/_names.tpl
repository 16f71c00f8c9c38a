{{/* Base name of every object: the release name, with the chart's name unless it is in there already. */}}
{{- define "workload-lib.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/*
Name of the ServiceAccount that the rights are bound to. Never the bare name of a loop by default:
those accounts exist in kube-system, made by kube-controller-manager for its own loops.
*/}}
{{- define "workload-lib.serviceAccountName" -}}
{{- default (printf "%s-account" (include "workload-lib.fullname" .)) .Values.serviceAccount.name }}
{{- end }}

{{/* Labels that identify this release's pods; part of immutable selectors, so they never change. */}}
{{- define "workload-lib.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "workload-lib.labels" -}}
{{ include "workload-lib.selectorLabels" . }}
app.kubernetes.io/component: controller
app.kubernetes.io/part-of: workload-controllers
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/*
Name of the Lease. Instances that reconcile what names them in managedBy each have one of their own, which the binary makes
in the same way.
*/}}
{{- define "workload-lib.lease" -}}
{{- $lease := (include "workload-lib.controller" . | fromYaml).lease }}
{{- with .Values.args.managedBy }}
{{- printf "%s-%s-%s" $lease (regexReplaceAll "[^a-z0-9]" (lower .) "-" | trimAll "-") (adler32sum .) }}
{{- else }}
{{- $lease }}
{{- end }}
{{- end }}

{{/* Image reference; a digest wins over the tag, which defaults to the chart's appVersion. */}}
{{- define "workload-lib.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}
