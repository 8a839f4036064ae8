{{- define "mcwan.labels" -}}
{{ include "mcwan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "mcwan.selector" -}}
app.kubernetes.io/name: mcwan
app.kubernetes.io/component: controller
{{- end }}
