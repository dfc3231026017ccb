import type { Report } from '../../util/finding.ts'
import { appendPointer } from '../../util/finding.ts'
import { readList, readMap, readText, readValue } from '../../util/plain-data.ts'

interface ListenerAddress {
  readonly name: string
  readonly pointer: string
  readonly host: string
  readonly port: number
}

const EVERYWHERE = new Set(['0.0.0.0', '::', '[::]'])

/** Reports clashing addresses and listeners exposed without authentication. */
export function checkListeners(config: unknown, report: Report): void {
  const listeners = readMap(config, 'listeners')
  const names = Object.keys(listeners)
  const addresses = names.flatMap(name => listAddresses(listeners, name))
  addresses.forEach((address, i) => {
    for (const other of addresses.slice(0, i)) if (isClash(address, other)) reportTaken(address, other, report)
    const isMeant = readValue(listeners, address.name, 'exposeWithoutAuth') === true || hasAuth(config, address.name)
    if (!isLoopback(address.host) && !isMeant) reportExposed(address, report)
  })
  const [first, ...more] = names.filter(name => readText(listeners, name, 'type') === 'stdio')
  for (const name of more) {
    const message = `stdin and stdout are already used by listener "${first}"`
    report({
      pointer: appendPointer('/listeners', name),
      message,
      hint: 'configure at most one stdio listener',
      on: 'key',
    })
  }
}

/** True if `auth` covers the listener. Third-party authentication is unknown here. */
function hasAuth(config: unknown, listener: string): boolean {
  if (readValue(config, 'auth') === undefined) return false
  return (
    readValue(config, 'auth', 'listeners') === undefined || readList(config, 'auth', 'listeners').includes(listener)
  )
}

function listAddresses(listeners: unknown, name: string): ListenerAddress[] {
  if (readText(listeners, name, 'type') !== 'http') return []
  const host = readText(listeners, name, 'host')
  const port = readValue(listeners, name, 'port')
  return host === undefined || typeof port !== 'number'
    ? []
    : [{ name, pointer: appendPointer('/listeners', name), host, port }]
}

function isClash(a: ListenerAddress, b: ListenerAddress): boolean {
  if (a.port === 0 || a.port !== b.port) return false
  return EVERYWHERE.has(a.host) || EVERYWHERE.has(b.host) || normalizeHost(a.host) === normalizeHost(b.host)
}

function normalizeHost(host: string): string {
  return host.toLowerCase() === 'localhost' ? '127.0.0.1' : host.toLowerCase()
}

function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  return name === '::1' || name === 'localhost' || name.endsWith('.localhost') || /^127(\.\d{1,3}){3}$/.test(name)
}

function reportTaken({ pointer, host, port }: ListenerAddress, other: ListenerAddress, report: Report): void {
  const message = `${host}:${port} is already used by listener "${other.name}"`
  report({ pointer: `${pointer}/port`, message, hint: 'choose another port; 0 picks a free one' })
}

function reportExposed({ pointer, host }: ListenerAddress, report: Report): void {
  const message = `host "${host}" exposes every tool without authentication`
  report({
    pointer: `${pointer}/host`,
    message,
    hint: 'use 127.0.0.1, configure "auth", or set "exposeWithoutAuth: true"',
  })
}

/** Path keys in lookup order. */
const PATH_KEYS = [['path'], ['sse', 'path'], ['sse', 'messages'], ['ws', 'path']] as const
const PROBES: ReadonlySet<string> = new Set(['/livez', '/healthz', '/readyz'])

/** Reports a listener's duplicate paths. */
export function checkPaths(config: unknown, report: Report): void {
  const listeners = readMap(config, 'listeners')
  for (const name of Object.keys(listeners)) {
    const pathOwners = new Map<string, string>()
    for (const keys of PATH_KEYS) {
      const path = readText(listeners, name, ...keys)
      if (path === undefined) continue
      const owner = PROBES.has(path) ? 'the probes' : pathOwners.get(path)
      const pointer = keys.reduce<string>(appendPointer, appendPointer('/listeners', name))
      if (owner === undefined) pathOwners.set(path, `"${keys.join('.')}"`)
      else
        report({
          pointer,
          message: `${path} is already used by ${owner} of this listener`,
          hint: 'choose another path',
        })
    }
  }
}
