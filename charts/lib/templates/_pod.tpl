{{/*
The one pod spec of every form of workload. Takes a dict: root, static (true: no API object may be
referred to, so the kubeconfig comes from the node).
*/}}
{{- define "workload-lib.podSpec" -}}
{{- $values := .root.Values }}
{{- if .static }}
automountServiceAccountToken: false
{{- else }}
serviceAccountName: {{ include "workload-lib.serviceAccountName" .root }}
automountServiceAccountToken: true
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
# No variables for other Services: flags can be set by environment variables too.
enableServiceLinks: false
{{- if eq (include "workload-lib.onHostNetwork" .root) "true" }}
hostNetwork: true
dnsPolicy: {{ ternary "Default" "ClusterFirstWithHostNet" .static }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  {{- with $values.runAs.user }}
  runAsUser: {{ int64 . }}
  {{- end }}
  {{- with $values.runAs.group }}
  runAsGroup: {{ int64 . }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
containers:
  {{- include "workload-lib.container" . | trim | nindent 2 }}
{{- if .static }}
volumes:
  - name: kubeconfig
    hostPath:
      path: {{ $values.staticPod.kubeconfig }}
      type: File
{{- else }}
{{- include "workload-lib.placement" .root }}
{{- end }}
{{- end }}

{{- define "workload-lib.container" -}}
{{- $values := .root.Values }}
- name: controller
  image: {{ include "workload-lib.image" .root | quote }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  args:
    {{- $add := ternary (dict "kubeconfig" $values.staticPod.kubeconfig) dict .static }}
    {{- include "workload-lib.args" (dict "root" .root "add" $add) | trim | nindent 4 }}
  ports:
    - name: admin
      containerPort: {{ $values.admin.port }}
      protocol: TCP
  livenessProbe:
    {{- include "workload-lib.probe" (dict "root" .root "path" "/livez") | nindent 4 }}
    periodSeconds: 10
    failureThreshold: 3
  readinessProbe:
    {{- include "workload-lib.probe" (dict "root" .root "path" "/readyz") | nindent 4 }}
    periodSeconds: 5
    failureThreshold: 2
  resources:
    {{- range $kind := list "requests" "limits" }}
    {{ $kind }}:
      {{- range $name, $quantity := get $values.resources $kind }}
      {{- if not (kindIs "invalid" $quantity) }}
      {{ $name }}: {{ $quantity }}
      {{- end }}
      {{- end }}
    {{- end }}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop: [ALL]
    privileged: false
    readOnlyRootFilesystem: true
  {{- if .static }}
  volumeMounts:
    - name: kubeconfig
      mountPath: {{ $values.staticPod.kubeconfig }}
      readOnly: true
  {{- end }}
{{- end }}

{{/* Request of a probe. The kubelet asks the pod's address unless the server listens on loopback only. */}}
{{- define "workload-lib.probe" -}}
httpGet:
  path: {{ .path }}
  port: admin
  {{- if hasPrefix "127.0.0.1:" (include "workload-lib.adminAddr" .root) }}
  host: 127.0.0.1
  {{- end }}
timeoutSeconds: 3
{{- end }}

{{/* Where the pods may run. A DaemonSet has one pod per node anyway: only a Deployment is spread. */}}
{{- define "workload-lib.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if eq .Values.workload "Deployment" }}
{{- include "workload-lib.spread" . }}
{{- end }}
{{- end }}

{{/* Replicas apart from each other: by node as asked, by zone where it can be had. */}}
{{- define "workload-lib.spread" -}}
{{- if eq .Values.antiAffinity "Required" }}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "workload-lib.selectorLabels" . | nindent 12 }}
{{- else if eq .Values.antiAffinity "Preferred" }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "workload-lib.selectorLabels" . | nindent 14 }}
{{- end }}
{{- if .Values.spreadOverZones }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "workload-lib.selectorLabels" . | nindent 8 }}
{{- end }}
{{- end }}
