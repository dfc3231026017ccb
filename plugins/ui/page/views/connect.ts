import { html } from 'htm/preact'
import { clients } from 'tapgate:clients'
import type { Overview } from '../../types.ts'
import { urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Field, Page, Problem, Snippet } from '../parts.ts'
import type { PageProps } from '../state.ts'
import { choose, useAnswer } from '../state.ts'

type Client = (typeof clients)[number]

/** Ways to connect each client: by a command, or by hand. */
export function Connect({ me, place }: PageProps): View {
  const { data, problem } = useAnswer<Overview>(urlOf('overview'))
  const urls = (data?.listeners ?? []).filter(({ type, url }) => type === 'http' && url !== undefined)
  const url = place.params.get('url') ?? urls[0]?.url ?? ''
  const client = clients.find(({ name }) => name === place.params.get('client')) ?? clients[0]
  return html`<${Page} title="Connect" lead="Point a client at this gateway">
    <${Problem} of=${problem} />
    <div class="filters">
      <${Field} label="Client" value=${client?.name ?? ''} options=${clients.map(one => [one.name, one.title])} change=${(text: string) => choose(place, { client: text })} />
      <${Field} label="URL" value=${url} hint="http://127.0.0.1:8080/mcp" change=${(text: string) => choose(place, { url: text })} />
    </div>
    ${client === undefined ? null : html`<${Ways} of=${client} url=${url} name=${me.gateway.name} />`}
  </${Page}>`
}

function Ways({ of, url, name }: { of: Client; url: string; name: string }): View {
  const isByUrl = of.http !== undefined && url !== ''
  const entry = filled(isByUrl ? (of.http ?? {}) : of.stdio, name, url)
  return html`<section class="detail" aria-label=${of.title}>
    <h2>${of.title}</h2>
    <h3>By a command</h3>
    <${Snippet} text=${`gateway connect ${of.name}${isByUrl ? ' --http' : ''}`} label="Command" />
    <h3>By hand</h3>
    <p class="soft">In <code>${of.user.linux}</code></p>
    <${Snippet} text=${written(of, name, entry)} label="Entry" />
    ${of.note === undefined ? null : html`<p>${of.note}</p>`}
  </section>`
}

/** The entry of a client with its values. */
function filled(form: Readonly<Record<string, unknown>>, name: string, url: string): Record<string, unknown> {
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

function written({ format, key, list }: Client, name: string, entry: Record<string, unknown>): string {
  if (format === 'toml') {
    const lines = Object.entries(entry).map(([member, value]) => `${member} = ${JSON.stringify(value)}`)
    return [`[${[...key, name].join('.')}]`, ...lines].join('\n')
  }
  const inner: unknown = list === true ? [{ name, ...entry }] : { [name]: entry }
  const whole = [...key].reverse().reduce<unknown>((value, one) => ({ [one]: value }), inner)
  return format === 'yaml' ? yaml(whole).trimStart() : JSON.stringify(whole, undefined, 2)
}

/** Plain data as YAML, each text in quotes. */
function yaml(value: unknown, indent = ''): string {
  if (Array.isArray(value))
    return value.map(one => `\n${indent}- ${yaml(one, `${indent}  `).trimStart()}`).join('')
  if (typeof value !== 'object' || value === null) return ` ${JSON.stringify(value)}`
  return Object.entries(value)
    .map(([key, one]) => `\n${indent}${key}:${yaml(one, `${indent}  `)}`)
    .join('')
}
