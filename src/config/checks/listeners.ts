import { type Report, pointerTo } from '../../util/finding.ts'
import { listAt, mapAt, textAt, valueAt } from '../../util/plain-data.ts'

interface Place {
  readonly name: string
  readonly pointer: string
  readonly host: string
  readonly port: number
}

const EVERYWHERE = new Set(['0.0.0.0', '::', '[::]'])

/** Listeners must not get into each other's way, nor be open to the world by accident. */
export function checkListeners(config: unknown, report: Report): void {
  const listeners = mapAt(config, 'listeners')
  const names = Object.keys(listeners)
  const places = names.flatMap(name => placeOf(listeners, name))
  places.forEach((place, i) => {
    for (const other of places.slice(0, i)) if (clash(place, other)) taken(place, other, report)
    const isMeant =
      valueAt(listeners, place.name, 'exposeWithoutAuth') === true || asksWho(config, place.name)
    if (!isLoopback(place.host) && !isMeant) exposed(place, report)
  })
  const [first, ...more] = names.filter(name => textAt(listeners, name, 'type') === 'stdio')
  for (const name of more) {
    const message = `stdin and stdout already belong to listener "${first}"`
    report({
      pointer: pointerTo('/listeners', name),
      message,
      hint: 'one stdio listener is the most',
      on: 'key',
    })
  }
}

/** True if `auth` covers the listener; whether a plugin of somebody else's does, only the listener can tell. */
function asksWho(config: unknown, listener: string): boolean {
  if (valueAt(config, 'auth') === undefined) return false
  return (
    valueAt(config, 'auth', 'listeners') === undefined ||
    listAt(config, 'auth', 'listeners').includes(listener)
  )
}

function placeOf(listeners: unknown, name: string): Place[] {
  if (textAt(listeners, name, 'type') !== 'http') return []
  const host = textAt(listeners, name, 'host')
  const port = valueAt(listeners, name, 'port')
  return host === undefined || typeof port !== 'number'
    ? []
    : [{ name, pointer: pointerTo('/listeners', name), host, port }]
}

function clash(a: Place, b: Place): boolean {
  if (a.port === 0 || a.port !== b.port) return false
  return EVERYWHERE.has(a.host) || EVERYWHERE.has(b.host) || sameHost(a.host) === sameHost(b.host)
}

function sameHost(host: string): string {
  return host.toLowerCase() === 'localhost' ? '127.0.0.1' : host.toLowerCase()
}

function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  return (
    name === '::1' || name === 'localhost' || name.endsWith('.localhost') || /^127(\.\d{1,3}){3}$/.test(name)
  )
}

function taken({ pointer, host, port }: Place, other: Place, report: Report): void {
  const message = `${host}:${port} already belongs to listener "${other.name}"`
  report({ pointer: `${pointer}/port`, message, hint: 'choose another port; 0 picks a free one' })
}

function exposed({ pointer, host }: Place, report: Report): void {
  const message = `host "${host}" opens every tool to everyone who reaches this port, without authentication`
  report({
    pointer: `${pointer}/host`,
    message,
    hint: 'use 127.0.0.1, ask who they are with "auth", or say that it is meant with "exposeWithoutAuth: true"',
  })
}

/** Keys of a listener's paths, in the order in which they are looked up. */
const PLACES = [['path'], ['sse', 'path'], ['sse', 'messages'], ['ws', 'path']] as const
const PROBES: ReadonlySet<string> = new Set(['/livez', '/healthz', '/readyz'])

/** One path of a listener leads to one thing. */
export function checkPaths(config: unknown, report: Report): void {
  const listeners = mapAt(config, 'listeners')
  for (const name of Object.keys(listeners)) {
    const taken = new Map<string, string>()
    for (const place of PLACES) {
      const path = textAt(listeners, name, ...place)
      if (path === undefined) continue
      const owner = PROBES.has(path) ? 'the probes' : taken.get(path)
      const pointer = place.reduce<string>(pointerTo, pointerTo('/listeners', name))
      if (owner === undefined) taken.set(path, `"${place.join('.')}"`)
      else
        report({
          pointer,
          message: `${path} already belongs to ${owner} of this listener`,
          hint: 'choose another path',
        })
    }
  }
}
