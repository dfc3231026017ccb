import { isKnown, listAt, mapAt, textAt, valueAt, type Report } from '../../src/plugin.ts'

type Match = Readonly<Record<string, readonly string[]>>

/** Each names what is asked for; a request has one of them at most. */
const SUBJECTS = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const
const SUBJECT_NAMES = Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[]

/** Routes that can never match, or lead nowhere, are mistakes. */
export function check(config: unknown, report: Report): void {
  const routes = listAt(config, 'routes')
  const matches = routes.map(matchOf)
  matches.forEach((match, i) => {
    const pointer = `/routes/${i}`
    const why = contradiction(match) ?? shadowed(match, matches.slice(0, i)) ?? filteredOut(match, config)
    if (why !== undefined)
      report({ pointer, message: `this route can never match: ${why.message}`, hint: why.hint })
    checkTarget(config, textAt(routes[i], 'to'), `${pointer}/to`, report)
  })
}

function matchOf(route: unknown): Match {
  const match = mapAt(route, 'match')
  const globs = Object.keys(match).map(
    key => [key, listAt(match, key).filter(glob => typeof glob === 'string')] as const,
  )
  return Object.fromEntries(globs)
}

interface Why {
  readonly message: string
  readonly hint: string
}

function contradiction(match: Match): Why | undefined {
  const subjects = SUBJECT_NAMES.filter(key => match[key] !== undefined)
  const [first, second] = subjects
  if (first === undefined) return undefined
  if (second !== undefined)
    return { message: `no request has both a ${first} and a ${second}`, hint: 'make two routes of it' }
  const methods = match.method
  if (
    methods === undefined ||
    !methods.every(isLiteral) ||
    methods.some(method => method.startsWith(methodGroup(first)))
  )
    return undefined
  return {
    message: `${methods.join(', ')} names no ${first}`,
    hint: `leave "method" out; "${first}" implies it`,
  }
}

/** `completion/complete`, subscriptions and the like name prompts and resources too. */
function methodGroup(subject: keyof typeof SUBJECTS): string {
  return subject === 'tool' ? SUBJECTS.tool : ''
}

function shadowed(match: Match, earlier: readonly Match[]): Why | undefined {
  const by = earlier.findIndex(other => coversMatch(other, match))
  if (by < 0) return undefined
  return {
    message: `route ${by} (/routes/${by}) takes everything it would get`,
    hint: 'put the narrower route first, or remove it',
  }
}

function coversMatch(wide: Match, narrow: Match): boolean {
  return Object.entries(wide).every(
    ([key, globs]) => narrow[key]?.every(glob => globs.some(wider => covers(wider, glob))) ?? false,
  )
}

/** True if one glob matches all that another does, as far as it can be told without trying. */
function covers(wide: string, narrow: string): boolean {
  if (wide === narrow || wide === '**') return true
  const stem = wide.replace(/\*$/, '')
  if (!isLiteral(stem) || stem === wide) return false
  return (
    narrow.startsWith(stem) && !/[/{}()![\]]|\*\*/.test(narrow.slice(stem.length)) && !narrow.startsWith('.')
  )
}

function isLiteral(glob: string): boolean {
  return !/[*?{}()!+@[\]\\]/.test(glob)
}

/** A tool that the global filter takes away is not there for any route. */
function filteredOut(match: Match, config: unknown): Why | undefined {
  for (const [key, section] of [
    ['tool', 'tools'],
    ['prompt', 'prompts'],
    ['resource', 'resources'],
  ] as const) {
    const denied = listAt(config, 'filters', section, 'deny').filter(glob => typeof glob === 'string')
    const gone = match[key]?.every(glob => denied.some(wide => covers(wide, glob)))
    if (gone === true)
      return {
        message: `filters.${section}.deny takes away everything it names`,
        hint: 'change the filter or the route',
      }
  }
  return undefined
}

function checkTarget(config: unknown, to: string | undefined, pointer: string, report: Report): void {
  const names = Object.keys(mapAt(config, 'upstreams'))
  if (to === undefined || !isKnown(to, { what: 'upstream', names }, pointer, report)) return
  if (valueAt(config, 'upstreams', to, 'enabled') !== false) return
  report({ pointer, message: `upstream "${to}" is disabled`, hint: `enable it, or remove the route` })
}
