import { gatewayError } from '../../errors/errors.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { amountText, durationText } from '../output/amounts.ts'
import { oneLine } from '../output/plain-text.ts'
import { table, uncut } from '../output/table.ts'
import type { Output, Terminal } from '../output/terminal.ts'
import { withControl, type ControlFlags } from './connect.ts'

interface Selection {
  readonly upstream?: string | undefined
  readonly name?: string | undefined
  readonly tag?: string | undefined
  readonly all?: boolean
}

const HEAD = ['upstream', 'method', 'state', 'age', 'size', 'hits', 'name']

/** What the cache of the running gateway holds. */
export function listCache(flags: ControlFlags & Selection, terminal: Terminal): Promise<JsonObject> {
  const { upstream } = flags
  return withControl(flags, terminal, client =>
    client.request('cache.ls', upstream === undefined ? {} : { upstream }),
  )
}

/** Takes entries out of it. */
export async function purgeCache(flags: ControlFlags & Selection, terminal: Terminal): Promise<JsonObject> {
  const { upstream, name, tag, all } = flags
  if (upstream === undefined && name === undefined && tag === undefined && all !== true)
    throw gatewayError('GW_USAGE', { what: 'say what to purge: --upstream, --name, --tag, or --all' })
  // What is undefined is left out on the way.
  return withControl(flags, terminal, client => client.request('cache.purge', { upstream, name, tag, all }))
}

/** Its entries as people read them. */
export function cacheLines({ entries, total, bytes }: JsonObject, out: Output): string[] {
  const rows = (Array.isArray(entries) ? entries : []).filter(isObject)
  const count = typeof total === 'number' ? total : rows.length
  const size = typeof bytes === 'number' ? `, ${amountText(bytes)}` : ''
  const sum = `${count} ${count === 1 ? 'entry' : 'entries'}${size}`
  if (rows.length === 0) return [sum]
  const head = HEAD.map(text => out.paint('dim', text))
  return [...table([head, ...rows.map(cells)], uncut(out)), sum]
}

/** `3 entries purged` */
export function purgeLine({ purged }: JsonObject): string {
  const count = typeof purged === 'number' ? purged : 0
  return `${count} ${count === 1 ? 'entry' : 'entries'} purged`
}

function cells({ upstream, method, state, ageMs, bytes, hits, name, tags }: JsonObject): string[] {
  const tagged = Array.isArray(tags) && tags.length > 0 ? `#${tags.join(' #')}` : ''
  return [
    text(upstream),
    text(method),
    text(state),
    typeof ageMs === 'number' ? durationText(ageMs) : '-',
    typeof bytes === 'number' ? amountText(bytes) : '-',
    typeof hits === 'number' ? String(hits) : '-',
    oneLine(`${typeof name === 'string' ? name : ''} ${tagged}`),
  ]
}

function text(value: unknown): string {
  return typeof value === 'string' ? oneLine(value) : '-'
}
