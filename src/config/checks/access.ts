import { listAt, mapAt, textAt, valueAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import { didYouMean } from '../../util/suggest.ts'
import type { Report } from '../problem.ts'
import { pathsOf } from './paths.ts'

/** Rules that cannot say whom they mean, and listeners that would let strangers in as one caller. */
export function checkAccess(config: unknown, report: Report): void {
  const auth = valueAt(config, 'auth')
  if (auth === undefined) return
  const issuers = listAt(auth, 'jwt').map(spec => textAt(spec, 'issuer') ?? '')
  const hasKeys = listAt(auth, 'keys').length > 0 || textAt(auth, 'keysFile') !== undefined
  for (const { pointer, pattern } of namedCallers(config)) {
    const why = unclear(pattern, issuers, hasKeys)
    if (why !== undefined) report({ pointer, ...why })
  }
  checkOpenPaths(config, auth, report)
}

/** Why nobody can say whom a pattern means; undefined when it is clear. */
function unclear(
  pattern: string,
  issuers: readonly string[],
  hasKeys: boolean,
): { message: string; hint: string | undefined } | undefined {
  const [first = '', ...rest] = pattern.split(' ')
  const isQualified = rest.length > 0 && [...issuers, 'api-key'].includes(first)
  if (pattern === '*' || isQualified) return undefined
  if (rest.length > 0 && first.includes('://'))
    return { message: `there is no issuer "${first}"`, hint: didYouMean(first, issuers) }
  if (hasKeys || issuers.length < 2) return undefined
  return {
    message: `"${pattern}" may be somebody else at each issuer`,
    hint: `write "${issuers[0] ?? ''} ${pattern}"`,
  }
}

interface Named {
  readonly pointer: string
  readonly pattern: string
}

/** Every place where a rule names callers. */
function namedCallers(config: unknown): Named[] {
  const profiles = mapAt(config, 'profiles')
  const limits = mapAt(valueAt(config, 'rateLimit'), 'rules')
  return [
    ...listAt(valueAt(config, 'auth'), 'rules').flatMap((rule, i) =>
      namedIn(rule, 'principals', `/auth/rules/${i}`),
    ),
    ...Object.keys(profiles).flatMap(name =>
      namedIn(profiles[name], 'principals', pointerTo('/profiles', name)),
    ),
    ...listAt(config, 'routes').flatMap((route, i) =>
      namedIn(mapAt(route, 'match'), 'principal', `/routes/${i}/match`),
    ),
    ...listAt(valueAt(valueAt(config, 'agents'), 'routing'), 'rules').flatMap((rule, i) =>
      namedIn(rule, 'principals', `/agents/routing/rules/${i}`),
    ),
    ...Object.keys(limits).flatMap(name =>
      namedIn(limits[name], 'principals', pointerTo('/rateLimit/rules', name)),
    ),
  ]
}

function namedIn(rule: unknown, key: string, at: string): Named[] {
  const value = valueAt(rule, key)
  const pointer = `${at}/${key}`
  if (typeof value === 'string') return [{ pointer, pattern: value }]
  return listAt(rule, key).flatMap((pattern, i) =>
    typeof pattern === 'string' ? [{ pointer: `${pointer}/${i}`, pattern }] : [],
  )
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
