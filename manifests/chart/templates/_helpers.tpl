{{- define "mcwan.labels" -}}
{{ include "mcwan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "mcwan.selector" -}}
app.kubernetes.io/name: mcwan
app.kubernetes.io/component: controller
{{- end }}

{{- /* Who manages an object that is there: what `mcwan registry init` has made is upgraded by that, not by us. */}}
{{- define "mcwan.manager" -}}
{{ dig "metadata" "labels" "app.kubernetes.io/managed-by" "" . }}
{{- end }}
