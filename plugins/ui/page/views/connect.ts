import { html } from 'htm/preact'
import { clients } from 'tapgate:clients'
import type { ConfigValue, ConfigValues, Overview } from '../../types.ts'
import type { ApiFailure } from '../api.ts'
import { formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { Field, Page, Problem, quoteWord, Snippet } from '../components.ts'
import type { PageProps } from '../state.ts'
import { updateParams, useQuery } from '../state.ts'

type ClientSpec = (typeof clients)[number]

/** Instructions for connecting each client. */
export function Connect(props: PageProps): ViewNode {
  const { route } = props
  const { target, problem } = useTarget(props)
  const client = clients.find(({ name }) => name === route.params.get('client')) ?? clients[0]
  return html`<${Page} title="Connect" lead="Connect a client to this gateway">
    <${Problem} of=${problem} />
    <div class="filters">
      <${Field} label="Client" value=${client?.name ?? ''} options=${clients.map(one => [one.name, one.title])} change=${(text: string) => updateParams(route, { client: text })} />
      <${Field} label="URL" value=${target?.url ?? ''} hint="http://127.0.0.1:8080/mcp" change=${(text: string) => updateParams(route, { url: text })} />
    </div>
    ${client === undefined || target === undefined ? null : html`<${ConnectInstructions} of=${client} to=${target} />`}
  </${Page}>`
}

/** Name of the entry in each client. */
const NAME = 'gateway'
/** Enough for the names of many keys. */
const MAX_VALUES = 500

/** Gateway that a client connects to. */
interface Target {
  readonly url: string
  /** Configuration file. */
  readonly file: string
  readonly isKeyed: boolean
}

/** Gateway of the page; undefined while loading. */
function useTarget({ route }: PageProps): { target?: Target; problem: ApiFailure | undefined } {
  const { data, problem } = useQuery<Overview>(formatApiUrl('overview'))
  const { data: auth, problem: authProblem } = useQuery<ConfigValues>(
    formatApiUrl('config', { search: '/auth/', limit: MAX_VALUES }),
  )
  if (data === undefined || auth === undefined) return { problem: problem ?? authProblem }
  const listeners = data.listeners.filter(({ type, url }) => type === 'http' && url !== undefined)
  const url = route.params.get('url') ?? listeners[0]?.url ?? ''
  const listener = listeners.find(one => one.url === url)?.name
  const isKeyed = needsKey(auth.values, listener)
  return { target: { url, file: auth.file ?? 'gateway.yaml', isKeyed }, problem }
}

/** True if API keys are configured, for all listeners or for this one. */
function needsKey(auth: readonly ConfigValue[], listener: string | undefined): boolean {
  const covered = auth.filter(({ pointer }) => pointer.startsWith('/auth/listeners')).flatMap(({ value }) => value)
  const hasKeys = auth.some(({ pointer }) => pointer.startsWith('/auth/keys'))
  return hasKeys && (covered.length === 0 || covered.includes(listener))
}

function ConnectInstructions({ of, to }: { of: ClientSpec; to: Target }): ViewNode {
  const isByUrl = of.http !== undefined && to.url !== ''
  const isKeyed = isByUrl && to.isKeyed
  const command = formatCommand(of, to, isByUrl)
  return html`<section class="detail" aria-label=${of.title}>
    <h2>${of.title}</h2>
    ${
      isKeyed
        ? html`<p>Replace <code>${KEY}</code> by a key, which this command creates:</p>
            <${Snippet} text=${`gateway key new --name ${of.name}`} label="Key" />`
        : null
    }
    ${
      command === undefined
        ? null
        : html`<h3>With a command</h3>
            <${Snippet} text=${command} label="Command" />`
    }
    <h3>Manually</h3>
    <p class="soft">In <code>${of.user[getPlatform()] ?? of.user.linux}</code></p>
    <${Snippet} text=${formatEntry(of, NAME, createEntry(of, to, isByUrl))} label="Entry" />
    ${of.note === undefined ? null : html`<p>${of.note}</p>`}
  </section>`
}

function getPlatform(): 'darwin' | 'win32' | 'linux' {
  return /Mac/.test(navigator.userAgent) ? 'darwin' : /Windows/.test(navigator.userAgent) ? 'win32' : 'linux'
}

const KEY = 'KEY'

/** The client's own command, or `gateway connect`; undefined if neither adds a key. */
function formatCommand(of: ClientSpec, to: Target, isByUrl: boolean): string | undefined {
  const { url, file, isKeyed } = to
  if (!isByUrl) return `gateway connect ${of.name} -c ${quoteWord(file)}`
  if (of.add === undefined) return isKeyed ? undefined : `gateway connect ${of.name} --http ${quoteWord(url)}`
  const command = of.add.replace('$name', NAME).replace('$url', () => quoteWord(url))
  if (!isKeyed) return command
  return of.addKey === undefined ? undefined : `${command} ${of.addKey}`
}

/** Fills the values into a client's entry. */
function createEntry(of: ClientSpec, to: Target, isByUrl: boolean): Record<string, unknown> {
  const args = ['attach', '-c', to.file]
  const values: Readonly<Record<string, unknown>> = {
    ...{ $name: NAME, $url: to.url, $command: 'gateway' },
    ...{ $args: args, $line: ['gateway', ...args] },
  }
  const entry = Object.entries(isByUrl ? (of.http ?? {}) : of.stdio).map(([key, value]) => [
    key,
    typeof value === 'string' && value in values ? values[value] : value,
  ])
  const header = { Authorization: `Bearer ${KEY}` }
  const headers = isByUrl && to.isKeyed ? nest(of.headers ?? ['headers'], header) : {}
  return { ...(Object.fromEntries(entry) as object), ...headers }
}

/** Puts a value into maps with these keys. */
function nest(keys: readonly string[], value: object): object {
  return keys.reduceRight((inner, key) => ({ [key]: inner }), value)
}

function formatEntry({ format, key, list }: ClientSpec, name: string, entry: Record<string, unknown>): string {
  if (format === 'toml') {
    const lines = Object.entries(entry).map(([member, value]) => `${member} = ${formatToml(value)}`)
    return [`[${[...key, name].join('.')}]`, ...lines].join('\n')
  }
  const nested = nest(key, list === true ? [{ name, ...entry }] : { [name]: entry })
  return format === 'yaml' ? formatYaml(nested).trimStart() : JSON.stringify(nested, undefined, 2)
}

function formatToml(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, one]) => `${key} = ${formatToml(one)}`)
    .join(', ')} }`
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
