import { html } from 'htm/preact'
import { clients } from 'tapgate:clients'
import type { Overview } from '../../types.ts'
import { formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { Field, Page, Problem, Snippet } from '../components.ts'
import type { PageProps } from '../state.ts'
import { updateParams, useQuery } from '../state.ts'

type ClientSpec = (typeof clients)[number]

/** Instructions for connecting each client. */
export function Connect({ me, route }: PageProps): ViewNode {
  const { data, problem } = useQuery<Overview>(formatApiUrl('overview'))
  const urls = (data?.listeners ?? []).filter(({ type, url }) => type === 'http' && url !== undefined)
  const url = route.params.get('url') ?? urls[0]?.url ?? ''
  const client = clients.find(({ name }) => name === route.params.get('client')) ?? clients[0]
  return html`<${Page} title="Connect" lead="Connect a client to this gateway">
    <${Problem} of=${problem} />
    <div class="filters">
      <${Field} label="Client" value=${client?.name ?? ''} options=${clients.map(one => [one.name, one.title])} change=${(text: string) => updateParams(route, { client: text })} />
      <${Field} label="URL" value=${url} hint="http://127.0.0.1:8080/mcp" change=${(text: string) => updateParams(route, { url: text })} />
    </div>
    ${client === undefined ? null : html`<${ConnectInstructions} of=${client} url=${url} name=${me.gateway.name} />`}
  </${Page}>`
}

function ConnectInstructions({ of, url, name }: { of: ClientSpec; url: string; name: string }): ViewNode {
  const isByUrl = of.http !== undefined && url !== ''
  const entry = fillEntry(isByUrl ? (of.http ?? {}) : of.stdio, name, url)
  return html`<section class="detail" aria-label=${of.title}>
    <h2>${of.title}</h2>
    <h3>With a command</h3>
    <${Snippet} text=${`gateway connect ${of.name}${isByUrl ? ' --http' : ''}`} label="Command" />
    <h3>Manually</h3>
    <p class="soft">In <code>${of.user.linux}</code></p>
    <${Snippet} text=${formatEntry(of, name, entry)} label="Entry" />
    ${of.note === undefined ? null : html`<p>${of.note}</p>`}
  </section>`
}

/** Fills the values into a client's entry. */
function fillEntry(form: Readonly<Record<string, unknown>>, name: string, url: string): Record<string, unknown> {
  const values: Readonly<Record<string, unknown>> = {
    $name: name,
    $command: 'gateway',
    $args: ['attach'],
    $line: ['gateway', 'attach'],
    $url: url,
  }
  return Object.fromEntries(
    Object.entries(form).map(([key, value]) => [
      key,
      typeof value === 'string' && value in values ? values[value] : value,
    ]),
  )
}

function formatEntry({ format, key, list }: ClientSpec, name: string, entry: Record<string, unknown>): string {
  if (format === 'toml') {
    const lines = Object.entries(entry).map(([member, value]) => `${member} = ${JSON.stringify(value)}`)
    return [`[${[...key, name].join('.')}]`, ...lines].join('\n')
  }
  const inner: unknown = list === true ? [{ name, ...entry }] : { [name]: entry }
  const nested = [...key].reverse().reduce<unknown>((value, one) => ({ [one]: value }), inner)
  return format === 'yaml' ? formatYaml(nested).trimStart() : JSON.stringify(nested, undefined, 2)
}

/** Formats plain data as YAML with quoted strings. */
function formatYaml(value: unknown, indent = ''): string {
  if (Array.isArray(value))
    return value.map(one => `\n${indent}- ${formatYaml(one, `${indent}  `).trimStart()}`).join('')
  if (typeof value !== 'object' || value === null) return ` ${JSON.stringify(value)}`
  return Object.entries(value)
    .map(([key, one]) => `\n${indent}${key}:${formatYaml(one, `${indent}  `)}`)
    .join('')
}
