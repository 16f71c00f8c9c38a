{{/* Headless: each pod is scraped by itself, nothing is balanced. Standbys are scraped too. */}}
{{- define "workload-lib.service" }}
{{- if .Values.service.enabled }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "workload-lib.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
  {{- with .Values.service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "workload-lib.selectorLabels" . | nindent 4 }}
  ports:
    - name: admin
      port: {{ .Values.admin.port }}
      targetPort: admin
      protocol: TCP
{{- end }}
{{- end }}

{{- define "workload-lib.serviceMonitor" }}
{{- if .Values.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "workload-lib.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- merge (include "workload-lib.labels" . | fromYaml) .Values.serviceMonitor.labels | toYaml | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "workload-lib.selectorLabels" . | nindent 6 }}
  endpoints:
    - port: admin
      path: /metrics
      interval: {{ .Values.serviceMonitor.interval }}
{{- end }}
{{- end }}

{{/*
Closes every port but `admin`, and that one to all but the peers named. Traffic outwards stays open:
a policy cannot select the API server, whose addresses differ from cluster to cluster.
*/}}
{{- define "workload-lib.networkPolicy" }}
{{- if .Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "workload-lib.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "workload-lib.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    - ports:
        - port: admin
          protocol: TCP
      {{- with .Values.networkPolicy.from }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
{{- end }}
