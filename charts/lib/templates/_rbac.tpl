{{- define "workload-lib.serviceAccount" }}
{{- if .Values.serviceAccount.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "workload-lib.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
# Pods that need the token ask for it themselves.
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{- define "workload-lib.clusterRole" }}
{{- if .Values.rbac.create }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "workload-lib.fullname" . }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
rules:
  {{- .Files.Get "files/rules.yaml" | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "workload-lib.fullname" . }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "workload-lib.fullname" . }}
subjects:
  {{- include "workload-lib.subjects" . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
Rights on the one Lease. Create is not limited to its name: a rule with names never matches a create,
whose request carries the name in the body only. Watch matches because the controller watches that name alone.
*/}}
{{- define "workload-lib.leaseRole" }}
{{- if and .Values.rbac.create .Values.args.leaderElect }}
{{- $name := printf "%s-lease" (include "workload-lib.fullname" . | trunc 57 | trimSuffix "-") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ .Values.args.leaseNamespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{ include "workload-lib.lease" . }}]
    verbs: [get, watch, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ .Values.args.leaseNamespace }}
  labels:
    {{- include "workload-lib.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  {{- include "workload-lib.subjects" . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "workload-lib.subjects" -}}
- kind: ServiceAccount
  name: {{ include "workload-lib.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- range .Values.rbac.users }}
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: {{ . | quote }}
{{- end }}
{{- end }}
