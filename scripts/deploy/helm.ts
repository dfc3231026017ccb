import { stringify } from 'yaml'
import { manifests, type Writer } from './manifests.ts'
import { commented, leavesOf, type Values, valuesSchema } from './values.ts'

/** Marks a template expression within a manifest string. */
const MARK = '@@'
const NAME = '.Release.Name'

/** Chart files by path. */
export function chart(version: string, licence: string): ReadonlyMap<string, string> {
  const schema = valuesSchema(version)
  const files = new Map([
    ['Chart.yaml', stringify(about(version, licence))],
    ['values.yaml', `# Made by scripts/deploy.ts.\n\n${commented(schema)}`],
    ['values.schema.json', `${JSON.stringify(schema, undefined, 2)}\n`],
    ['.helmignore', '.DS_Store\n'],
  ])
  for (const { file, object, when } of manifests(placeholders(leavesOf(schema)), WRITER)) {
    const text = asTemplate(stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    files.set(`templates/${file}.yaml`, when === undefined ? text : `{{- if ${when} }}\n${text}{{- end }}\n`)
  }
  return files
}

function about(version: string, licence: string): object {
  return {
    apiVersion: 'v2',
    name: 'tapgate',
    description: 'A declarative gateway for the Model Context Protocol',
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.25.0-0',
    annotations: { licenses: licence },
  }
}

/** Replaces values with template expressions. */
function placeholders(leaves: readonly string[]): Values {
  const values: Record<string, unknown> = {}
  for (const leaf of leaves) {
    const names = leaf.slice(1).split('.')
    let at = values
    for (const name of names.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>
    at[names.at(-1) ?? ''] = `${MARK}.Values${leaf}${MARK}`
  }
  const redis = `{{ .Values.cluster.redis | default (printf "redis://%s-redis:6379" ${NAME}) }}`
  return {
    ...values,
    cluster: { ...(values.cluster as object), redis },
    config: '{{ toYaml .Values.config }}',
  } as unknown as Values
}

const WRITER: Writer = {
  name: `${MARK}${NAME}${MARK}`,
  hosts: ['', '.{{ .Release.Namespace }}', '.{{ .Release.Namespace }}.svc'].map(
    rest => `{{ ${NAME} }}${rest}`,
  ),
  annotations: { 'checksum/values': `${MARK}toJson .Values | sha256sum${MARK}` },
  sum: (...seconds) => `${MARK}add ${seconds.map(inner).join(' ')}${MARK}` as unknown as number,
  text: value => `${MARK}quote ${inner(value)}${MARK}`,
  property: (expression, _holds, name, value) => ({ [`${MARK}if ${expression}${MARK}${name}`]: value }),
  items: (expression, _holds, items) => [
    `${MARK}if ${expression}${MARK}` as never,
    ...items,
    `${MARK}end${MARK}` as never,
  ],
}

function inner(value: unknown): string {
  return String(value).replaceAll(MARK, '')
}

const EXPRESSION = `${MARK}((?:(?!${MARK}).)+)${MARK}`
const PROPERTY = new RegExp(`^( *)["']?@@if ([^@]+)@@(\\w+)["']?: (.*)$`, 'gm')
const BOUND = new RegExp(`^ *(?:- )?["']?@@(if [^@]+|end)@@["']?$`, 'gm')
const WHOLE = new RegExp(`(^|: |- )["']?${EXPRESSION}["']?$`, 'gm')

/** Inserts template expressions. Whole values are written as JSON, which is valid YAML. */
function asTemplate(text: string): string {
  return text
    .replace(BOUND, '{{- $1 }}')
    .replace(PROPERTY, '$1{{- if $2 }}\n$1$3: $4\n$1{{- end }}')
    .replace(WHOLE, (_all, before: string, expression: string) => `${before}{{ ${whole(expression)} }}`)
    .replace(new RegExp(EXPRESSION, 'g'), '{{ $1 }}')
    .replace(/^( *)\{\{ toYaml (\S+) \}\}$/gm, (_all, indent: string, value: string) =>
      `${indent}{{- toYaml ${value} | nindent ${indent.length} }}`.trimStart(),
    )
}

function whole(expression: string): string {
  return expression.startsWith('.Values') ? `toJson ${expression}` : expression
}
