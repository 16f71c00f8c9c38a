{{- define "workload-lib.workload" -}}
{{- if eq .Values.workload "Deployment" }}
{{- include "workload-lib.deployment" . }}
{{- else if eq .Values.workload "DaemonSet" }}
{{- include "workload-lib.daemonSet" . }}
{{- else if eq .Values.workload "StaticPod" }}
{{- include "workload-lib.staticPod" . }}
{{- end }}
{{- end }}

{{- define "workload-lib.deployment" }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "workload-lib.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  revisionHistoryLimit: 3
  strategy:
    type: RollingUpdate
    rollingUpdate:
      # Lets a rollout go on where every fitting node already runs a replica.
      maxUnavailable: 1
      maxSurge: 1
  selector:
    matchLabels:
      {{- include "workload-lib.selectorLabels" . | nindent 6 }}
  template:
    {{- include "workload-lib.podTemplate" . | nindent 4 }}
{{- end }}

{{- define "workload-lib.daemonSet" }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "workload-lib.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
spec:
  revisionHistoryLimit: 3
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "workload-lib.selectorLabels" . | nindent 6 }}
  template:
    {{- include "workload-lib.podTemplate" . | nindent 4 }}
{{- end }}

{{- define "workload-lib.podTemplate" -}}
metadata:
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  labels:
    {{- include "workload-lib.podLabels" . | nindent 4 }}
spec:
  {{- include "workload-lib.podSpec" (dict "root" . "static" false) | trim | nindent 2 }}
{{- end }}

{{/* Selector labels last: no label of the user's may replace one that a selector needs. */}}
{{- define "workload-lib.podLabels" -}}
{{- merge (include "workload-lib.labels" . | fromYaml) .Values.podLabels | toYaml }}
{{- end }}

{{/*
A ConfigMap that carries the manifest for the kubelets' manifest folder: nothing in the cluster can
create a static pod, so the file is placed by whoever looks after the nodes.
*/}}
{{- define "workload-lib.staticPod" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "workload-lib.fullname" . }}-static-pod
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
data:
  {{ .Chart.Name }}.yaml: |
    apiVersion: v1
    kind: Pod
    metadata:
      name: {{ include "workload-lib.fullname" . }}
      namespace: {{ .Release.Namespace }}
      {{- with .Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      labels:
        {{- include "workload-lib.podLabels" . | nindent 8 }}
    spec:
      {{- include "workload-lib.podSpec" (dict "root" . "static" true) | trim | nindent 6 }}
{{- end }}
