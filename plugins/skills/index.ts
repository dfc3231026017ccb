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
  parseSkillUri,
  principalKey,
  readMap,
  readText,
  refuse,
  RPC,
  SKILLS,
  toSkillUri,
} from '../../src/plugin.ts'
import { ERRORS, findMismatch, findSkillProblem, Manifests, skillError } from './manifests.ts'
import { parseCursor, formatCursor } from './skill-uris.ts'

const LIST = 'skills/list'
const GET = 'skills/get'
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
    const servers = new SkillServers()
    const manifests = slot.gateway(() => new Manifests())
    const reported = slot.gateway(() => new BoundedMap<string, true>({ max: 10_000 }))
    const report: SkillDeps['report'] = (code, upstream, uri, why) => {
      const error = skillError(code, { uri: uri === '' ? `of ${upstream}` : toSkillUri(upstream, uri), why })
      const key = JSON.stringify([code, upstream, uri])
      if (!reported.has(key)) log.warn(error.message, { upstream, code, hint: error.hint })
      reported.set(key, true)
      return error
    }
    const deps = { manifests, report }
    hooks.dispatch.tap((_, upstream) => servers.add(upstream))
    // A URI that names a server never leads to another one.
    hooks.request.tap({ methods: [...SKILL_METHODS.filter(method => method !== LIST), READ] }, exchange => {
      const uri = readText(exchange.params, 'uri')
      if (exchange.method === READ && !servers.hasExposedUri(exchange)) {
        const owners = servers.listOwners(exchange, manifests)
        if (owners.length < 2) return undefined
        const uris = owners.map(name => toSkillUri(name, uri ?? '')).join(', ')
        return refuse(RPC.invalidParams, `Several servers have ${uri ?? ''}: read one of ${uris}`)
      }
      if (servers.listNames(exchange).length === 0 && exchange.method !== READ) return undefined
      if (servers.findTarget(exchange) !== undefined) return undefined
      return refuse(RPC.invalidParams, uri === undefined ? 'Invalid params: no "uri"' : `Resource not found: ${uri}`)
    })
    hooks.request.tap({ methods: [LIST] }, exchange => refuseUnknownCursor(exchange, servers.listNames(exchange)))
    hooks.route.tap({ methods: METHODS }, exchange => {
      if (exchange.method === LIST) return routeList(exchange, servers.listNames(exchange))
      if (exchange.method !== READ || servers.hasExposedUri(exchange))
        return routeUri(exchange, servers.findTarget(exchange), manifests)
      const [upstream = ''] = servers.listOwners(exchange, manifests)
      const own = { upstream, uri: String(exchange.params?.uri) }
      return routeUri(exchange, upstream === '' ? undefined : own, manifests)
    })
    // A file may also be read under its original URI, which the catalog routes.
    hooks.call.tap({ methods: [READ] }, ({ exchange, upstream, params }) => {
      if (exchange.entry?.kind !== 'resources' || !servers.isSkilled(upstream)) return
      const uri = readText(params, 'uri') ?? ''
      const skill = manifests.find(principalKey(exchange.principal), upstream, uri)
      if (skill !== undefined || SKILL_URI.test(uri) || exchange.entry.marks?.skill !== undefined)
        exchange.entry = exchange.judgeEntry('skills', upstream, uri, skill)
    })
    hooks.response.tap({ methods: METHODS }, (answer, exchange) => {
      const { route, method } = exchange
      if (route?.to !== 'one' || (method === READ && exchange.entry?.kind !== 'skills')) return undefined
      const { upstream } = route
      if (!servers.isSkilled(upstream)) return undefined
      if (method === LIST) return convertPage(answer, exchange, upstream, servers.listNames(exchange), deps)
      return 'result' in answer ? convertAnswer(answer, exchange, upstream, deps) : undefined
    })
  },
}

/** All upstreams, of which some have skills. */
class SkillServers {
  readonly #upstreams = new Map<string, Upstream>()

  add(upstream: Upstream): void {
    this.#upstreams.set(upstream.name, upstream)
  }

  isSkilled(name: string): boolean {
    return isObject(readMap(this.#upstreams.get(name)?.server, 'capabilities', 'extensions')[SKILLS])
  }

  /** Lists the servers with skills that the caller may see. */
  listNames(exchange: Exchange): string[] {
    return [...this.#upstreams.keys()].filter(name => this.isSkilled(name) && isVisible(exchange, name))
  }

  /** Lists the servers whose skills have the requested file under its original URI. */
  listOwners(exchange: Exchange, manifests: Manifests): string[] {
    const uri = readText(exchange.params, 'uri') ?? ''
    const caller = principalKey(exchange.principal)
    const names = SKILL_URI.test(uri) ? this.listNames(exchange) : []
    return names.filter(name => manifests.find(caller, name, uri) !== undefined)
  }

  /** True if the requested URI names a server. */
  hasExposedUri({ params }: Exchange): boolean {
    return this.#upstreams.has(parseSkillUri(params?.uri)?.upstream ?? '')
  }

  /** Finds the upstream and its own URI: of `skill://<upstream>/…`, or of the only upstream with skills. */
  findTarget(exchange: Exchange): SkillTarget | undefined {
    const uri = readText(exchange.params, 'uri')
    const target = parseSkillUri(uri)
    if (target !== undefined && this.hasExposedUri(exchange)) {
      const { upstream } = target
      // A server that has not started yet may have skills.
      const isPossible = this.#upstreams.get(upstream)?.server === undefined || this.isSkilled(upstream)
      return isPossible && isVisible(exchange, upstream) ? target : undefined
    }
    const [upstream, second] = this.listNames(exchange)
    return uri === undefined || upstream === undefined || second !== undefined ? undefined : { upstream, uri }
  }
}

/** Rules that hide a whole server hide every kind. */
function isVisible(exchange: Exchange, upstream: string): boolean {
  return SECTIONS.some(kind => exchange.mayUse(kind, upstream, ''))
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
function refuseUnknownCursor({ params }: Exchange, names: readonly string[]): Answer | undefined {
  const isKnown = params?.cursor === undefined || parseCursor(params.cursor, names) !== undefined
  return isKnown || names.length === 0 ? undefined : refuse(RPC.invalidParams, 'Invalid params: unknown cursor')
}

type SkillTarget = NonNullable<ReturnType<typeof parseSkillUri>>

/** Lists one upstream per page, so that each keeps its own pages, `ttlMs` and `cacheScope`. */
function routeList({ params }: Exchange, names: readonly string[]): SkillRoute {
  const { upstream = names[0], cursor } = parseCursor(params?.cursor, names) ?? {}
  if (upstream === undefined) return undefined
  const { cursor: _, ...others } = params ?? {}
  return { to: 'one', upstream, params: cursor === undefined ? others : { ...others, cursor } }
}

/** The rules judge the URI, and the skill that has it. */
function routeUri(exchange: Exchange, target: SkillTarget | undefined, manifests: Manifests): SkillRoute {
  if (target === undefined) return undefined
  const { upstream, uri } = target
  const skill = manifests.find(principalKey(exchange.principal), upstream, uri)
  const entry = exchange.judgeEntry('skills', upstream, uri, skill)
  return { to: 'one', upstream, params: { ...exchange.params, uri }, entry }
}

/** Rewrites a page's URIs, and continues with the next upstream. A failed upstream among others has an empty page. */
function convertPage(
  answer: Answer,
  exchange: Exchange,
  upstream: string,
  names: readonly string[],
  deps: SkillDeps,
): Answer | undefined {
  const following = names[names.indexOf(upstream) + 1]
  const next = following === undefined ? {} : { nextCursor: formatCursor(following) }
  if ('error' in answer && names.length > 1)
    return createAnswer({ resultType: 'complete', skills: [], ttlMs: 0, cacheScope: 'private', ...next })
  if (!('result' in answer)) return undefined
  const page = answer.result.value()
  const own = readText(page, 'nextCursor') || undefined
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
    : exchange.method === GET && checkSkill(isObject(skill) ? skill : {}, exchange, upstream, deps)
  if (refusal) return { error: refusal }
  if (isRead && parseSkillUri(exchange.params?.uri)?.upstream !== upstream) return undefined
  const exposed = {
    skill: exposeSkill(skill, upstream),
    resources: exposeVisible(resources, exchange, upstream, deps.manifests),
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

function exposeVisible(entries: unknown, exchange: Exchange, upstream: string, manifests: Manifests): unknown {
  const mayRead = (entry: JsonObject): boolean => {
    const uri = readText(entry, 'uri') ?? ''
    const skill = manifests.find(principalKey(exchange.principal), upstream, uri)
    return exchange.judgeEntry('skills', upstream, uri, skill).refusal === undefined
  }
  return exposeAll(filterObjects(entries).filter(mayRead), upstream)
}

function exposeAll(entries: unknown, upstream: string): unknown {
  return Array.isArray(entries) ? entries.map((entry: unknown) => exposeOne(entry, upstream)) : entries
}

function exposeOne<T>(entry: T, upstream: string): T {
  const uri = readText(entry, 'uri')
  return uri === undefined ? entry : { ...entry, uri: toSkillUri(upstream, uri) }
}
