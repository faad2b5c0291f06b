{{- define "auditor.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "auditor.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "auditor.exporterLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-metrics
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "auditor.image" -}}
{{- $repository := required "image.repository is required: the image that you built from deploy/Containerfile" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "auditor.isUrl" -}}
{{- if contains "://" . -}}true{{- end -}}
{{- end -}}

{{- define "auditor.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- define "auditor.needsClaim" -}}
{{- if or .Values.metrics.exporterImage (not (include "auditor.isUrl" .Values.reportRoot)) -}}true{{- end -}}
{{- end -}}

{{- define "auditor.check" -}}
{{- $hasSnapshots := or .Values.takeSnapshot.enabled .Values.snapshots.hostPath .Values.snapshots.existingClaim -}}
{{- if .Values.fleet -}}
{{- if ne (toJson .Values.dumps) "[\"/snapshots/snapshot.db\"]" -}}{{- fail "give either dumps or fleet: what is audited" -}}{{- end -}}
{{- if empty (index (fromYaml .Values.fleet) "clusters") -}}{{- fail "fleet lists no clusters" -}}{{- end -}}
{{- else if not .Values.dumps -}}
{{- fail "give dumps or fleet: what is audited" -}}
{{- end -}}
{{- $paths := .Values.dumps -}}
{{- if .Values.fleet -}}
{{- $paths = list -}}
{{- range index (fromYaml .Values.fleet) "clusters" -}}{{- $paths = append $paths (index . "dump" | default "") -}}{{- end -}}
{{- end -}}
{{- range $paths -}}
{{- if and (not (include "auditor.isUrl" .)) (not (hasPrefix "/snapshots" .)) -}}
{{- fail (printf "%s is neither a URL nor a path below /snapshots" (. | quote)) -}}
{{- else if and (not (include "auditor.isUrl" .)) (not $hasSnapshots) -}}
{{- fail (printf "%s is no URL, and no volume has it: set takeSnapshot.enabled, snapshots.existingClaim or snapshots.hostPath, or audit URLs" (. | quote)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.metrics.hostPath .Values.metrics.exporterImage -}}{{- fail "give either metrics.hostPath or metrics.exporterImage" -}}{{- end -}}
{{- end -}}
