import type {
  Answer,
  CatalogEntry,
  Exchange,
  GatewayError,
  JsonObject,
  Plugin,
  Report,
  Upstream,
} from '../../src/plugin.ts'
import {
  answer as createAnswer,
  appendPointer,
  BoundedMap,
  EXTENSION_METHODS,
  filterObjects,
  isObject,
  principalKey,
  readMap,
  readText,
  refuse,
  RPC,
  SKILLS,
} from '../../src/plugin.ts'
import { ERRORS, findMismatch, findSkillProblem, Manifests, skillError } from './manifests.ts'
import { parseCursor, formatCursor, toExposedUri, toOriginalUri } from './skill-uris.ts'

const LIST = 'skills/list'
const READ = 'resources/read'
const SKILL_METHODS = [...EXTENSION_METHODS].filter(([, row]) => row.extension === SKILLS).map(([method]) => method)
const METHODS = [...SKILL_METHODS, READ]
const SECTIONS = ['skills', 'tools', 'prompts'] as const

/**
 * Serves the skills of all upstreams (SEP-2640). A skill is identified by its server and URI, so clients see
 * `skill://<upstream>/…`: two servers may have the same URI, and a read never reaches another server.
 */
export const skills: Plugin<undefined> = {
  name: 'skills',
  claims: { upstream: ['skills'], makesUpstreams: true, always: true },
  errors: ERRORS,
  sharesState: true,
  check: checkSources,
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { hooks, log, slot, config } = api
    if (Object.values(config.upstreams).some(({ type }) => type === 'skills')) {
      const { LocalSkillsUpstream } = await import('./local-skills.ts')
      hooks.createUpstream
        .for('skills')
        .tap((spec, context) => (spec.type === 'skills' ? new LocalSkillsUpstream(spec, context, api) : undefined))
    }
    const upstreams = new Map<string, Upstream>()
    const manifests = slot.gateway(() => new Manifests())
    const reported = slot.gateway(() => new BoundedMap<string, true>({ max: 10_000 }))
    const report: SkillDeps['report'] = (code, upstream, uri, why) => {
      const error = skillError(code, { uri: toExposedUri(upstream, uri), why })
      if (!reported.has(error.message)) log.warn(error.message, { upstream, code, hint: error.hint })
      reported.set(error.message, true)
      return error
    }
    const deps = { manifests, report }
    hooks.dispatch.tap((_, upstream) => void upstreams.set(upstream.name, upstream))
    const isSkilled = (name: string): boolean => hasSkills(upstreams.get(name))
    const listNames = (exchange: Exchange): string[] => {
      const skilled = [...upstreams.keys()].filter(isSkilled)
      // Rules that hide a whole server hide every kind.
      return skilled.filter(name => SECTIONS.some(kind => exchange.mayUse(kind, name, '')))
    }
    hooks.request.tap({ methods: SKILL_METHODS }, exchange => refuseUnknown(exchange, listNames(exchange)))
    hooks.route.tap({ methods: METHODS }, exchange => {
      if (isOrdinaryRead(exchange)) return undefined
      const names = listNames(exchange)
      return exchange.method === LIST ? routeList(exchange, names) : routeUri(exchange, names, manifests)
    })
    // A file may also be read under its original URI, which the catalog routes.
    hooks.call.tap({ methods: [READ] }, ({ exchange, upstream, params }) => {
      if (exchange.entry?.kind !== 'resources' || !isSkilled(upstream)) return
      const uri = readText(params, 'uri') ?? ''
      const skill = manifests.find(principalKey(exchange.principal), upstream, uri)
      if (skill !== undefined || SKILL_URI.test(uri))
        exchange.entry = exchange.judgeEntry('skills', upstream, uri, skill)
    })
    hooks.response.tap({ methods: METHODS }, (answer, exchange) => {
      const { route, method } = exchange
      if (route?.to !== 'one' || (method === READ && exchange.entry?.kind !== 'skills')) return undefined
      const { upstream } = route
      if (!isSkilled(upstream)) return undefined
      if (method === LIST) return convertPage(answer, exchange, upstream, listNames(exchange), deps)
      return 'result' in answer ? convertAnswer(answer, exchange, upstream, deps) : undefined
    })
  },
}

/** Reports local skills without a source, or with two. */
function checkSources(config: unknown, report: Report): void {
  for (const [name, spec] of Object.entries(readMap(config, 'upstreams'))) {
    if (readText(spec, 'type') !== 'skills') continue
    const { dir, git, ref, builtin } = readMap(spec, 'skills')
    const isOne = [git ?? dir, builtin].filter(source => source !== undefined).length === 1
    if (isOne && (ref === undefined || git !== undefined)) continue
    report({
      pointer: `${appendPointer('/upstreams', name)}/skills`,
      message: isOne ? '"ref" needs "git"' : 'needs exactly one of "dir", "git" and "builtin"',
      hint: 'such as skills: { dir: ./skills }',
    })
  }
}

/** Such a URI belongs to a skill, even if its manifest is unknown. */
const SKILL_URI = /^skill:|\/SKILL\.md$/i

type SkillRoute = ReturnType<Parameters<Parameters<Plugin['setup']>[0]['hooks']['route']['tap']>[1]>
type SkillRefusal = NonNullable<CatalogEntry['refusal']>
type SkillAnswer = Extract<Answer, { readonly result: unknown }>

interface SkillDeps {
  readonly manifests: Manifests
  /** Logs a problem once, and returns it as an error. */
  report(code: keyof typeof ERRORS, upstream: string, uri: string, why: string): GatewayError
}
function hasSkills(upstream: Upstream | undefined): boolean {
  return isObject(readMap(upstream?.server, 'capabilities', 'extensions')[SKILLS])
}

/** True for reads of other resources, which cost nothing more. */
function isOrdinaryRead({ method, params }: Exchange): boolean {
  return method === READ && toOriginalUri(params?.uri) === undefined
}

/** Refuses unknown cursors and servers. */
function refuseUnknown({ method, params }: Exchange, names: readonly string[]): Answer | undefined {
  if (names.length === 0) return undefined
  if (method === LIST) {
    const isKnown = params?.cursor === undefined || parseCursor(params.cursor, names) !== undefined
    return isKnown ? undefined : refuse(RPC.invalidParams, 'Invalid params: unknown cursor')
  }
  if (findTarget(params, names) !== undefined) return undefined
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

/** Reads of original URIs are left to the catalog. The rules judge the URI, and the skill that has it. */
function routeUri(exchange: Exchange, names: readonly string[], manifests: Manifests): SkillRoute {
  const { method, params, principal } = exchange
  const target = method === READ ? toOriginalUri(params?.uri) : findTarget(params, names)
  if (target === undefined || !names.includes(target.upstream)) return undefined
  const { upstream, uri } = target
  const skill = manifests.find(principalKey(principal), upstream, uri)
  const entry = exchange.judgeEntry('skills', upstream, uri, skill)
  return { to: 'one', upstream, params: { ...params, uri }, entry }
}

/** Rewrites a page's URIs, and continues with the next upstream. A failed upstream has an empty page if others follow. */
function convertPage(
  answer: Answer,
  exchange: Exchange,
  upstream: string,
  names: readonly string[],
  deps: SkillDeps,
): Answer | undefined {
  const following = names[names.indexOf(upstream) + 1]
  const next = following === undefined ? {} : { nextCursor: formatCursor(following) }
  if ('error' in answer && following !== undefined)
    return createAnswer({ resultType: 'complete', skills: [], ttlMs: 0, cacheScope: 'private', ...next })
  if (!('result' in answer)) return undefined
  const page = answer.result.value()
  const own = readText(page, 'nextCursor')
  const visible = filterObjects(page.skills).filter(skill => checkSkill(skill, exchange, upstream, deps) === undefined)
  const put = {
    skills: visible.map(skill => exposeSkill(skill, upstream)),
    ...(own === undefined ? next : { nextCursor: formatCursor(upstream, own) }),
  }
  return { result: answer.result.edit(['skills', 'nextCursor'], put) }
}

/** Stores the manifest for later reads; returns the refusal of a skill that is invalid or that the rules hide. */
function checkSkill(
  skill: JsonObject,
  exchange: Exchange,
  upstream: string,
  { manifests, report }: SkillDeps,
): SkillRefusal | undefined {
  const uri = readText(skill, 'uri') ?? ''
  const why = findSkillProblem(skill)
  if (why !== undefined) return toRpcError(report('GW_SKILL_INVALID', upstream, uri, why))
  manifests.hold(principalKey(exchange.principal), upstream, skill)
  return exchange.judgeEntry('skills', upstream, uri, skill).refusal
}

/** Returns the error for a file that differs from the manifest. */
function checkFile(
  value: JsonObject,
  exchange: Exchange,
  upstream: string,
  { report }: SkillDeps,
): SkillRefusal | undefined {
  const { route, entry } = exchange
  const uri = route?.to === 'one' ? (readText(route.params, 'uri') ?? '') : ''
  const why = findMismatch(entry?.value ?? {}, uri, value.contents)
  return why === undefined ? undefined : toRpcError(report('GW_SKILL_FILE', upstream, uri, why))
}

/** Checks a skill or a file, and rewrites the URIs, unless the file was read under its original one. */
function convertAnswer(
  { result }: SkillAnswer,
  exchange: Exchange,
  upstream: string,
  deps: SkillDeps,
): Answer | undefined {
  const value = result.value()
  const isRead = exchange.method === READ
  const { skill, resources, contents } = value
  const refusal = isRead
    ? checkFile(value, exchange, upstream, deps)
    : isObject(skill) && checkSkill(skill, exchange, upstream, deps)
  if (refusal) return { error: refusal }
  if (isRead && toOriginalUri(exchange.params?.uri)?.upstream !== upstream) return undefined
  const exposed = {
    skill: exposeSkill(skill, upstream),
    resources: exposeVisible(resources, exchange, upstream),
    contents: exposeAll(contents, upstream),
  }
  const put = Object.fromEntries(Object.entries(exposed).filter(([key]) => key in value))
  return { result: result.edit(Object.keys(put), put) }
}

function toRpcError({ code, message, entry }: GatewayError): SkillRefusal {
  return { code: entry.rpc ?? RPC.internal, message, data: { code } }
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

function exposeVisible(entries: unknown, exchange: Exchange, upstream: string): unknown {
  const manifest = exchange.entry?.isUnlisted === true ? undefined : exchange.entry?.value
  const mayRead = (entry: unknown): boolean =>
    exchange.judgeEntry('skills', upstream, readText(entry, 'uri') ?? '', manifest).refusal === undefined
  return exposeAll(Array.isArray(entries) ? entries.filter(mayRead) : entries, upstream)
}

function exposeAll(entries: unknown, upstream: string): unknown {
  return Array.isArray(entries) ? entries.map((entry: unknown) => exposeOne(entry, upstream)) : entries
}

function exposeOne<T>(entry: T, upstream: string): T {
  const uri = readText(entry, 'uri')
  return uri === undefined ? entry : { ...entry, uri: toExposedUri(upstream, uri) }
}
