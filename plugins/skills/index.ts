import type { Answer, Exchange, Plugin, Upstream } from '../../src/plugin.ts'
import { answer as createAnswer, isObject, readList, readMap, readText, refuse, RPC } from '../../src/plugin.ts'
import { parseCursor, formatCursor, toExposedUri, toOriginalUri } from './skill-uris.ts'

const EXTENSION = 'io.modelcontextprotocol/skills'
const LIST = 'skills/list'
const READ = 'resources/read'
const SKILL_METHODS = [LIST, 'skills/get', 'resources/directory/read']
const METHODS = [...SKILL_METHODS, READ]

/**
 * Serves the skills of all upstreams (SEP-2640). A skill is identified by its server and URI, so clients see
 * `skill://<upstream>/…`: two servers may have the same URI, and a read never reaches another server.
 */
export const skills: Plugin<undefined> = {
  name: 'skills',
  setup({ hooks }) {
    const upstreams = new Map<string, Upstream>()
    hooks.dispatch.tap((_, upstream) => void upstreams.set(upstream.name, upstream))
    const listNames = (exchange: Exchange): string[] => {
      const skilled = [...upstreams.values()].filter(hasSkills).map(({ name }) => name)
      return skilled.filter(name => exchange.mayUse('resources', name, ''))
    }
    hooks.request.tap({ methods: SKILL_METHODS }, exchange => refuseHidden(exchange, listNames(exchange)))
    hooks.route.tap({ methods: METHODS }, exchange => {
      if (isOrdinaryRead(exchange)) return undefined
      const names = listNames(exchange)
      return exchange.method === LIST ? routeList(exchange, names) : routeUri(exchange, names)
    })
    hooks.response.tap({ methods: METHODS }, (answer, exchange) => {
      if (exchange.route?.to !== 'one' || isOrdinaryRead(exchange)) return undefined
      const { upstream } = exchange.route
      const source = upstreams.get(upstream)
      if (source === undefined || !hasSkills(source)) return undefined
      return exchange.method === LIST
        ? convertPage(answer, exchange, upstream, listNames(exchange))
        : convertAnswer(answer, exchange, upstream)
    })
  },
}

type SkillRoute = ReturnType<Parameters<Parameters<Plugin['setup']>[0]['hooks']['route']['tap']>[1]>

function hasSkills({ server }: Upstream): boolean {
  return isObject(readMap(server, 'capabilities', 'extensions')[EXTENSION])
}

/** True for reads of other resources, which cost nothing more. */
function isOrdinaryRead({ method, params }: Exchange): boolean {
  return method === READ && toOriginalUri(params?.uri) === undefined
}

/** Refuses unknown cursors, and skills that the rules for resources hide. Reads are checked by the catalog. */
function refuseHidden(exchange: Exchange, names: readonly string[]): Answer | undefined {
  const { method, params } = exchange
  if (names.length === 0) return undefined
  if (method === LIST) {
    const isKnown = params?.cursor === undefined || parseCursor(params.cursor, names) !== undefined
    return isKnown ? undefined : refuse(RPC.invalidParams, 'Invalid params: unknown cursor')
  }
  const target = findTarget(params, names)
  if (target !== undefined && exchange.mayUse('resources', target.upstream, target.uri)) return undefined
  return refuse(RPC.invalidParams, `Resource not found: ${String(params?.uri)}`)
}

/** Finds the upstream and its own URI: of `skill://<upstream>/…`, or of the only upstream with skills. */
function findTarget(params: Exchange['params'], names: readonly string[]): SkillTarget | undefined {
  const target = toOriginalUri(params?.uri)
  if (target !== undefined && names.includes(target.upstream)) return target
  const [only, second] = names
  const uri = readText(params, 'uri')
  return only === undefined || second !== undefined || uri === undefined ? undefined : { upstream: only, uri }
}

type SkillTarget = NonNullable<ReturnType<typeof toOriginalUri>>

/** Lists one upstream per page, so that each keeps its own pages, `ttlMs` and `cacheScope`. */
function routeList({ params }: Exchange, names: readonly string[]): SkillRoute {
  const { upstream = names[0], cursor } = parseCursor(params?.cursor, names) ?? {}
  if (upstream === undefined) return undefined
  const { cursor: _, ...others } = params ?? {}
  return { to: 'one', upstream, params: cursor === undefined ? others : { ...others, cursor } }
}

/** Reads of original URIs are left to the catalog. */
function routeUri({ method, params }: Exchange, names: readonly string[]): SkillRoute {
  const target = method === READ ? toOriginalUri(params?.uri) : findTarget(params, names)
  if (target === undefined || !names.includes(target.upstream)) return undefined
  return { to: 'one', upstream: target.upstream, params: { ...params, uri: target.uri } }
}

/** Rewrites a page's URIs, and continues with the next upstream. A failed upstream has an empty page if others follow. */
function convertPage(
  answer: Answer,
  exchange: Exchange,
  upstream: string,
  names: readonly string[],
): Answer | undefined {
  const following = names[names.indexOf(upstream) + 1]
  const next = following === undefined ? {} : { nextCursor: formatCursor(following) }
  if ('error' in answer && following !== undefined)
    return createAnswer({ resultType: 'complete', skills: [], ttlMs: 0, cacheScope: 'private', ...next })
  if (!('result' in answer)) return undefined
  const page = answer.result.value()
  const own = readText(page, 'nextCursor')
  const visible = readList(page, 'skills').filter(skill => mayRead(exchange, upstream, skill))
  const skills = visible.map(skill => exposeSkill(skill, upstream))
  const put = { skills, ...(own === undefined ? next : { nextCursor: formatCursor(upstream, own) }) }
  return { result: answer.result.edit(['skills', 'nextCursor'], put) }
}

/** Rewrites the URIs of a skill, a directory, or a file that was read under its exposed URI. */
function convertAnswer(answer: Answer, exchange: Exchange, upstream: string): Answer | undefined {
  const { method, params } = exchange
  if (!('result' in answer)) return undefined
  if (method === READ && toOriginalUri(params?.uri)?.upstream !== upstream) return undefined
  const value = answer.result.value()
  const put = {
    ...('skill' in value ? { skill: exposeSkill(value.skill, upstream) } : {}),
    ...('resources' in value ? { resources: exposeVisible(value.resources, exchange, upstream) } : {}),
    ...('contents' in value ? { contents: exposeAll(value.contents, upstream) } : {}),
  }
  return { result: answer.result.edit(Object.keys(put), put) }
}

/** Rewrites a skill and its manifest, which names every file. */
function exposeSkill(skill: unknown, upstream: string): unknown {
  if (!isObject(skill)) return skill
  const { resources } = skill
  return {
    ...exposeOne(skill, upstream),
    ...(resources === undefined ? {} : { resources: exposeAll(resources, upstream) }),
  }
}

function mayRead(exchange: Exchange, upstream: string, entry: unknown): boolean {
  return exchange.mayUse('resources', upstream, readText(entry, 'uri') ?? '')
}

function exposeVisible(entries: unknown, exchange: Exchange, upstream: string): unknown {
  const visible = Array.isArray(entries) ? entries.filter(entry => mayRead(exchange, upstream, entry)) : entries
  return exposeAll(visible, upstream)
}

function exposeAll(entries: unknown, upstream: string): unknown {
  return Array.isArray(entries) ? entries.map((entry: unknown) => exposeOne(entry, upstream)) : entries
}

function exposeOne<T>(entry: T, upstream: string): T {
  const uri = readText(entry, 'uri')
  return uri === undefined ? entry : { ...entry, uri: toExposedUri(upstream, uri) }
}
