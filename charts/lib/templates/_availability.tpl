{{/*
Drains may take one replica at a time. Only for a Deployment: drains leave DaemonSet pods and
static pods alone.
*/}}
{{- define "workload-lib.disruptionBudget" }}
{{- if and .Values.disruptionBudget.enabled (eq .Values.workload "Deployment") }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "workload-lib.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  # A replica that cannot become ready must not keep its node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "workload-lib.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end }}
