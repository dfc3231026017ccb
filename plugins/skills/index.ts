import type { Answer, Exchange, Plugin, Upstream } from '../../src/plugin.ts'
import { answer as createAnswer, isObject, readList, readMap, readText } from '../../src/plugin.ts'
import { parseCursor, formatCursor, toExposedUri, toOriginalUri } from './skill-uris.ts'

const EXTENSION = 'io.modelcontextprotocol/skills'
const LIST = 'skills/list'
const READ = 'resources/read'
const METHODS = [LIST, 'skills/get', 'resources/directory/read', READ]

/**
 * Serves the skills of all upstreams (SEP-2640). A skill is identified by its server and URI, so clients see
 * `skill://<upstream>/…`: two servers may have the same URI, and a read never reaches another server.
 */
export const skills: Plugin<undefined> = {
  name: 'skills',
  setup({ hooks }) {
    const upstreams = new Map<string, Upstream>()
    hooks.dispatch.tap((_, upstream) => void upstreams.set(upstream.name, upstream))
    hooks.route.tap({ methods: METHODS }, exchange => {
      const names = [...upstreams.values()].filter(hasSkills).map(({ name }) => name)
      return exchange.method === LIST ? routeList(exchange, names) : routeUri(exchange, names)
    })
    hooks.response.tap({ methods: METHODS }, (answer, exchange) => {
      if (exchange.route?.to !== 'one') return undefined
      const { upstream } = exchange.route
      const source = upstreams.get(upstream)
      if (source === undefined || !hasSkills(source)) return undefined
      const names = [...upstreams.values()].filter(hasSkills).map(({ name }) => name)
      return exchange.method === LIST ? convertPage(answer, upstream, names) : convertAnswer(answer, exchange, upstream)
    })
  },
}

type SkillRoute = ReturnType<Parameters<Parameters<Plugin['setup']>[0]['hooks']['route']['tap']>[1]>

function hasSkills({ server }: Upstream): boolean {
  return isObject(readMap(server, 'capabilities', 'extensions')[EXTENSION])
}

/** Lists one upstream per page, so that each keeps its own pages, `ttlMs` and `cacheScope`. */
function routeList({ params }: Exchange, names: readonly string[]): SkillRoute {
  const { upstream = names[0], cursor } = parseCursor(params?.cursor, names)
  if (upstream === undefined) return undefined
  const { cursor: _, ...others } = params ?? {}
  return { to: 'one', upstream, params: cursor === undefined ? others : { ...others, cursor } }
}

/** Routes `skill://<upstream>/…`; original URIs are left to the catalog, or to the only upstream with skills. */
function routeUri({ method, params }: Exchange, names: readonly string[]): SkillRoute {
  const target = toOriginalUri(params?.uri)
  if (target !== undefined && names.includes(target.upstream))
    return { to: 'one', upstream: target.upstream, params: { ...params, uri: target.uri } }
  const [only, second] = names
  return method === READ || only === undefined || second !== undefined
    ? undefined
    : { to: 'one', upstream: only, params }
}

/** Rewrites a page's URIs, and continues with the next upstream. A failed upstream has an empty page if others follow. */
function convertPage(answer: Answer, upstream: string, names: readonly string[]): Answer | undefined {
  const following = names[names.indexOf(upstream) + 1]
  const next = following === undefined ? {} : { nextCursor: formatCursor(following) }
  if ('error' in answer && following !== undefined)
    return createAnswer({ resultType: 'complete', skills: [], ttlMs: 0, cacheScope: 'private', ...next })
  if (!('result' in answer)) return undefined
  const page = answer.result.value()
  const own = readText(page, 'nextCursor')
  const skills = readList(page, 'skills').map(skill => exposeSkill(skill, upstream))
  const put = { skills, ...(own === undefined ? next : { nextCursor: formatCursor(upstream, own) }) }
  return { result: answer.result.edit(['skills', 'nextCursor'], put) }
}

/** Rewrites the URIs of a skill, a directory, or a file that was read under its exposed URI. */
function convertAnswer(answer: Answer, { method, params }: Exchange, upstream: string): Answer | undefined {
  if (!('result' in answer)) return undefined
  if (method === READ && toOriginalUri(params?.uri)?.upstream !== upstream) return undefined
  const value = answer.result.value()
  const put = {
    ...('skill' in value ? { skill: exposeSkill(value.skill, upstream) } : {}),
    ...('resources' in value ? { resources: exposeAll(value.resources, upstream) } : {}),
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

function exposeAll(entries: unknown, upstream: string): unknown {
  return Array.isArray(entries) ? entries.map((entry: unknown) => exposeOne(entry, upstream)) : entries
}

function exposeOne<T>(entry: T, upstream: string): T {
  const uri = readText(entry, 'uri')
  return uri === undefined ? entry : { ...entry, uri: toExposedUri(upstream, uri) }
}
