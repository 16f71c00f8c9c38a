{{/* What the operator does next. Loops are named as kube-controller-manager's --controllers names them. */}}
{{- define "workload-lib.notes" -}}
{{- $loops := (include "workload-lib.controller" . | fromYaml).loops }}
{{- $upstream := list }}
{{- range include "workload-lib.loops" . | fromYamlArray }}
{{- $upstream = append $upstream (get $loops .) }}
{{- end }}
{{- include "workload-lib.notesInstalled" . }}
{{- with .Values.args.managedBy }}

BESIDE kube-controller-manager
  This controller serves the objects whose spec.managedBy is {{ . }} and no others.
  kube-controller-manager leaves those alone: its loops stay on. No second release may serve this name.
{{- else }}

NEVER TWO MASTERS
  This controller and the same loops of kube-controller-manager must not run at the same time: both
  would create and delete pods for the same objects. A time without either is harmless. Nothing in
  this chart can tell whether the loops are off: you have to make sure.
{{- if has .Values.workload (list "Deployment" "DaemonSet") }} If they are not, undo the
  installation now:
    {{ include "workload-lib.notesUninstall" . }}
{{- end }}

Switch over
  1. Give every replica of kube-controller-manager, on every control-plane node, the flag
       --controllers=*,-{{ join ",-" $upstream }}
     (add these entries to the list if the flag is set already) and wait until all have restarted.
     One replica without the flag is enough to undo this: it may become the leader.
  2. Only then let {{ .Chart.Name }} run.

Hand back
  1. Stop {{ .Chart.Name }}: {{ include "workload-lib.notesStop" . }}
     Wait until none of its pods or processes is left.
  2. Then take the entries out of --controllers again, on every replica.
  Neither way restarts a pod.

Managed control planes
  Where you cannot set the flags of kube-controller-manager (most hosted Kubernetes services), its
  loops cannot be switched off: do not run {{ .Chart.Name }} there.
{{- end }}
{{- if ne .Release.Namespace "kube-system" }}

Namespace
  The release is in {{ .Release.Namespace }}. The API server's default flow control serves requests of
  ServiceAccounts outside kube-system at the level workload-low, those inside at workload-high.
{{- end }}
{{- end }}

{{/* What has been installed, by form of workload. */}}
{{- define "workload-lib.notesInstalled" -}}
{{- $name := include "workload-lib.fullname" . }}
{{- if eq .Values.workload "None" -}}
ServiceAccount and rights are installed; no workload is. A process outside the cluster signs in with
  kubectl -n {{ .Release.Namespace }} create token {{ include "workload-lib.serviceAccountName" . }}
{{- else if eq .Values.workload "StaticPod" -}}
ServiceAccount, rights and the manifest of a static pod are installed; nothing runs yet. On each
control-plane node, once the loops below are off:
  1. Place a kubeconfig at {{ .Values.staticPod.kubeconfig }}, readable by the user
     of the pod{{ with .Values.runAs.user }} ({{ int64 . }}){{ end }}, which signs in as the ServiceAccount
     {{ .Release.Namespace }}/{{ include "workload-lib.serviceAccountName" . }} or as one of rbac.users.
  2. Write the manifest into the kubelet's folder for static pods, often /etc/kubernetes/manifests:
       kubectl -n {{ .Release.Namespace }} get configmap {{ $name }}-static-pod \
         -o go-template='{{ "{{" }} index .data "{{ .Chart.Name }}.yaml" {{ "}}" }}'
A change of this release changes the ConfigMap only: write the file again on each node.
{{- else -}}
{{ .Chart.Name }} runs as {{ .Values.workload }} {{ .Release.Namespace }}/{{ $name }}. Which pod holds the Lease:
  kubectl -n {{ .Values.args.leaseNamespace }} get lease {{ include "workload-lib.lease" . }}
{{- end }}
{{- end }}

{{/* How to stop the controller, by form of workload. */}}
{{- define "workload-lib.notesStop" -}}
{{- if eq .Values.workload "None" -}}
end its processes.
{{- else if eq .Values.workload "StaticPod" -}}
take its manifest out of the kubelet's folder on each node.
{{- else -}}
{{ include "workload-lib.notesUninstall" . }}
{{- end }}
{{- end }}

{{- define "workload-lib.notesUninstall" -}}
helm -n {{ .Release.Namespace }} uninstall {{ .Release.Name }} --cascade foreground --wait
{{- end }}
