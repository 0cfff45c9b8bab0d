{{/* Everything takes a dict: root, the context of the chart, and part, one of ingest, worker, query, operator, migrate. */}}

{{- define "meridian.selector" -}}
app.kubernetes.io/name: meridian
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "meridian.labels" -}}
{{ include "meridian.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "meridian.port" -}}
{{ get (dict "ingest" "3001" "query" "3002" "worker" "3003") .part }}
{{- end }}

{{/* The image of a service; operator and migrate have the command's. */}}
{{- define "meridian.image" -}}
{{- $image := .root.Values.image -}}
{{- $service := has .part (list "ingest" "worker" "query") | ternary .part "cli" -}}
image: {{ printf "%s-%s:%s" $image.repository $service ($image.tag | default .root.Chart.AppVersion) }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end }}

{{- define "meridian.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, seccompProfile: { type: RuntimeDefault } }
{{- end }}

{{- define "meridian.securityContext" -}}
securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
{{- end }}

{{/* The volume of a city file, for who reads it: ingest, and the doctor. */}}
{{- define "meridian.geoipMount" -}}
{{- if .Values.geoipVolume -}}
volumeMounts: [{ name: geoip, mountPath: /geoip, readOnly: true }]
{{- end }}
{{- end }}

{{- define "meridian.geoipVolume" -}}
{{- with .Values.geoipVolume -}}
volumes:
  - name: geoip
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{- define "meridian.secretEnv" -}}
- { name: {{ .name }}, valueFrom: { secretKeyRef: { name: {{ .root.Values.secret }}, key: {{ .key | default .name }}, optional: {{ .optional | default false }} } } }
{{- end }}

{{/* What a process gets to know: its place, the stores, the secrets of its work, then the settings of the values. */}}
{{- define "meridian.env" -}}
{{- $root := .root -}}
{{- $part := .part -}}
{{- $isService := has $part (list "ingest" "worker" "query") -}}
{{- $isPublic := has $part (list "ingest" "query") -}}
- { name: REGION, value: {{ $root.Values.region | quote }} }
{{ include "meridian.secretEnv" (dict "root" $root "name" "DATABASE_URL") }}
{{ include "meridian.secretEnv" (dict "root" $root "name" "REDIS_URL") }}
{{- if ne $part "ingest" }}
{{- $user := get (dict "worker" "WRITER" "query" "READER") $part | default "MIGRATOR" }}
{{ include "meridian.secretEnv" (dict "root" $root "name" "CLICKHOUSE_URL" "key" (printf "CLICKHOUSE_URL_%s" $user)) }}
{{- end }}
{{- if $isService }}
- { name: PORT, value: {{ include "meridian.port" . | quote }} }
- { name: METRICS_PORT, value: "9464" }
{{- end }}
{{- if $isPublic }}
{{ include "meridian.secretEnv" (dict "root" $root "name" "DATABASE_REPLICA_URL" "optional" true) }}
{{ include "meridian.secretEnv" (dict "root" $root "name" "APP_SECRET") }}
{{ include "meridian.secretEnv" (dict "root" $root "name" "APP_SECRET_PREVIOUS" "optional" true) }}
- { name: STOP_DELAY_MS, value: {{ .root.Values.stopDelayMs | int | quote }} }
{{- end }}
{{- if or $isPublic (eq $part "operator") }}
{{- with $root.Values.peers }}
{{- $peers := list }}
{{- range $name, $url := . }}{{ $peers = append $peers (printf "%s=%s" $name $url) }}{{ end }}
- { name: PEERS, value: {{ join "," $peers | quote }} }
{{ include "meridian.secretEnv" (dict "root" $root "name" "PEER_SECRET") }}
{{- end }}
{{- end }}
{{- if eq $part "query" }}
- { name: MODE, value: {{ $root.Values.mode }} }
{{ include "meridian.secretEnv" (dict "root" $root "name" "ADMIN_PASSWORD" "optional" true) }}
{{- end }}
{{- $own := index $root.Values (eq $part "migrate" | ternary "operator" $part) }}
{{- range $name, $value := merge (dict) $own.settings $root.Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{/* Paths that go to ingest, as a JSON array; everything else is query's. */}}
{{- define "meridian.collectPaths" -}}
{{- $paths := list -}}
{{- $prefixes := list "/api" "/v1" -}}
{{- range append (keys .root.Values.peers) .root.Values.region | uniq | sortAlpha -}}
{{- $prefixes = append $prefixes (printf "/v1/%s" .) -}}
{{- end -}}
{{- range $prefixes -}}
{{- $paths = append (append $paths (printf "%s/send" .)) (printf "%s/batch" .) -}}
{{- end -}}
{{ toJson $paths }}
{{- end }}
