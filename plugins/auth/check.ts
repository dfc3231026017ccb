import { isKnown, listAt, mapAt, textAt, valueAt, type Report } from '../../src/plugin.ts'
import { OFFLINE } from './scopes.ts'

/** Paths that a listener has of its own. */
const PATHS = [['path'], ['sse', 'path'], ['sse', 'messages'], ['ws', 'path']] as const

/** Listeners that are named must exist, and none may let strangers in as one caller. */
export function check(config: unknown, report: Report): void {
  const auth = valueAt(config, 'auth')
  if (auth === undefined) return
  const names = Object.keys(mapAt(config, 'listeners'))
  listAt(auth, 'listeners').forEach((name, i) =>
    isKnown(name, { what: 'listener', names }, `/auth/listeners/${i}`, report),
  )
  checkOpenPaths(config, auth, report)
  checkCertificates(config, auth, report)
  listAt(auth, 'rules').forEach((rule, i) =>
    listAt(rule, 'scopes').forEach((scope, j) => {
      if (scope === OFFLINE)
        report({
          pointer: `/auth/rules/${i}/scopes/${j}`,
          message: `"${OFFLINE}" allows nothing here: it asks an issuer for refresh tokens, and clients do that by themselves`,
          hint: 'name a scope that stands for what the rule is about',
        })
    }),
  )
}

/** Certificates say who somebody is only where clients are asked for them. */
function checkCertificates(config: unknown, auth: unknown, report: Report): void {
  if (valueAt(auth, 'certificates') === undefined) return
  const covered = listAt(auth, 'listeners')
  const listeners = mapAt(config, 'listeners')
  const asks = Object.keys(listeners).some(
    name =>
      (covered.length === 0 || covered.includes(name)) &&
      textAt(listeners, name, 'tls', 'clientCa') !== undefined,
  )
  if (asks) return
  report({
    pointer: '/auth/certificates',
    message: 'no listener asks its clients for a certificate',
    hint: 'name the authorities that are trusted in "tls.clientCa" of an HTTP listener',
    on: 'key',
  })
}

/** Strangers have no name to be told apart by: sessions, tasks and parked calls of one would be those of all. */
function checkOpenPaths(config: unknown, auth: unknown, report: Report): void {
  const covered = listAt(auth, 'listeners')
  const listeners = mapAt(config, 'listeners')
  const names = Object.keys(listeners).filter(name => covered.length === 0 || covered.includes(name))
  const endpoints = new Map(
    names.flatMap(name => pathsOf(listeners[name]).map(path => [path, name] as const)),
  )
  listAt(auth, 'except').forEach((path, i) => {
    if (typeof path !== 'string') return
    const owner = endpoints.get(path) ?? names.find(name => isOfProfile(path, listeners[name], config))
    if (owner === undefined && !isRestCall(path, config)) return
    report({
      pointer: `/auth/except/${i}`,
      message: `"${path}" is where clients call tools, and strangers there would share sessions and tasks`,
      hint: 'give it a listener of its own that "auth.listeners" leaves out, or let its clients have a key',
    })
  })
}

function isOfProfile(path: string, listener: unknown, config: unknown): boolean {
  const main = textAt(listener, 'path')
  return main !== undefined && Object.keys(mapAt(config, 'profiles')).some(name => path === `${main}/${name}`)
}

function isRestCall(path: string, config: unknown): boolean {
  return valueAt(config, 'rest') !== undefined && path.endsWith('/tools/call')
}

function pathsOf(listener: unknown): string[] {
  return PATHS.map(place => textAt(listener, ...place)).filter(path => path !== undefined)
}
