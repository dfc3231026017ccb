import { createHash } from 'node:crypto'
import type { Config, HttpReply, HttpRequest, Plugin } from '../../src/plugin.ts'
import {
  appendPointer,
  checkKnownName,
  createProfileLookup,
  readList,
  readMap,
  readText,
  readValue,
  STRANGER,
} from '../../src/plugin.ts'

const CATALOG_PATH = '/.well-known/ai-catalog.json'
const REGISTRY_PATH = '/v0.1/servers'
const CARD_TYPE = 'application/mcp-server-card+json'
const CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'
const SERVER_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
const REGISTRY_PATHS = /^\/v0\.1\/servers(\/[^/]+\/versions(\/[^/]+)?)?$/
const MAX_AGE_SECONDS = 3600
const MAX_PAGE = 100

/** Hosts that stand for every address of the machine. */
const WILDCARDS = ['0.0.0.0', '::']
/** The same as for unknown paths, so that names cannot be guessed. */
const NOT_FOUND: HttpReply = { status: 404 }

type DiscoveryOptions = NonNullable<Config['discovery']>

/** Serves server cards (SEP-2127), their catalog, and a registry of the profiles that a caller may use. */
export const discovery: Plugin<DiscoveryOptions> = {
  name: 'discovery',
  claims: { section: 'discovery' },
  check(config, report) {
    if (readValue(config, 'discovery') === undefined) return
    const listeners = readMap(config, 'listeners')
    const names = Object.keys(listeners).filter(name => readText(listeners, name, 'type') === 'http')
    const served = readList(config, 'discovery', 'listeners')
    served.forEach((name, i) =>
      checkKnownName(name, { what: 'HTTP listener', names }, `/discovery/listeners/${i}`, report),
    )
    for (const name of names.filter(one => served.length === 0 || served.includes(one)))
      if (WILDCARDS.includes(readText(listeners, name, 'host') ?? '') && !readText(listeners, name, 'publicUrl'))
        report({
          pointer: appendPointer('/listeners', name),
          message: 'the documents of "discovery" contain the address of this listener, which is not one of a machine',
          hint: 'set "publicUrl"',
          severity: 'warning',
        })
  },
  setup({ config, options, hooks }) {
    const documents = new Documents(config, options)
    const serve = (path: string, handle: (request: HttpRequest) => HttpReply): void =>
      hooks.http.for(path).tap(request => {
        const isServed = options.listeners?.includes(request.listener) !== false
        const found = isServed ? handle(request) : NOT_FOUND
        return found === NOT_FOUND || request.method === 'GET' ? found : { status: 405, headers: { allow: 'GET' } }
      })
    const cards = listCards(config, documents.profiles)

    for (const path of new Set(cards.map(card => card.path)))
      serve(path, request => {
        const card = cards.find(one => one.path === path && one.listener === request.listener)
        return card === undefined ? NOT_FOUND : documents.serveCard(request, card.profile)
      })
    serve(CATALOG_PATH, request => documents.serveCatalog(request))
    // Cards describe how to connect, so they are readable without credentials, unless their profile is for certain callers.
    hooks.authenticate.tap({ stage: 'trace' }, ({ listener, method, path }) => {
      const isCard = cards.some(
        one => one.path === path && one.listener === listener && documents.isPublic(one.profile),
      )
      const isRegistry = options.registry === 'public' && REGISTRY_PATHS.test(path)
      return method === 'GET' && (isCard || isRegistry || path === CATALOG_PATH) ? STRANGER : undefined
    })
    if (!options.registry) return
    serve(REGISTRY_PATH, request => documents.serveList(request))
    for (const profile of documents.profiles)
      for (const path of listVersionPaths(documents.getName(profile)))
        serve(path, request => documents.serveVersions(request, profile))
  },
}

interface CardPath {
  readonly listener: string
  readonly path: string
  readonly profile: ProfileName
}

/** Lists the paths of cards, except for those of MCP endpoints, such as a profile named `server-card`. */
function listCards({ listeners }: Config, profiles: readonly ProfileName[]): CardPath[] {
  return Object.entries(listeners).flatMap(([listener, spec]) => {
    if (spec.type !== 'http') return []
    const endpoints = profiles.map(profile => ({ profile, path: getProfilePath(spec.path, profile) }))
    const others = [...(spec.sse ? [spec.sse.path, spec.sse.messages] : []), ...(spec.ws ? [spec.ws.path] : [])]
    const taken = new Set([...endpoints.map(({ path }) => path), ...others])
    const cards = endpoints.map(({ profile, path }) => ({ listener, path: `${path}/server-card`, profile }))
    return cards.filter(({ path }) => !taken.has(path))
  })
}

/** A profile, or undefined for the endpoint without one. */
type ProfileName = string | undefined

/** Documents about the gateway and its profiles. */
class Documents {
  readonly profiles: readonly ProfileName[]
  readonly #config: Config
  readonly #options: DiscoveryOptions
  readonly #getProfile: ReturnType<typeof createProfileLookup>

  constructor(config: Config, options: DiscoveryOptions) {
    this.#config = config
    this.#options = options
    this.#getProfile = createProfileLookup(config)
    this.profiles = [undefined, ...Object.keys(config.profiles ?? {})]
  }

  /** Returns a name such as `com.example/tools-readers`. */
  getName(profile: ProfileName): string {
    const { server, listeners } = this.#config
    const http = Object.values(listeners).find(one => one.type === 'http')
    const host = http?.publicUrl === undefined ? http?.host : new URL(http.publicUrl).hostname
    const namespace = this.#options.namespace ?? reverseHost(host ?? 'localhost')
    const own = server.name.replaceAll(/[^A-Za-z0-9._-]/g, '-')
    return profile === undefined ? `${namespace}/${own}` : `${namespace}/${own}-${profile}`
  }

  /** True for profiles that are not for certain callers. */
  isPublic(profile: ProfileName): boolean {
    return profile === undefined || this.#config.profiles?.[profile]?.principals === undefined
  }

  serveCard(request: HttpRequest, profile: ProfileName): HttpReply {
    if (!this.#isUsable(request, profile)) return NOT_FOUND
    return publish(request, CARD_TYPE, { $schema: CARD_SCHEMA, ...this.#describe(request, profile) })
  }

  /** Lists the cards, except for profiles with `principals`. */
  serveCatalog(request: HttpRequest): HttpReply {
    const entries = this.profiles
      .filter(profile => this.isPublic(profile))
      .map(profile => {
        const [namespace = '', own = ''] = this.getName(profile).split('/')
        const identifier = `urn:air:${reverseHost(namespace)}:mcp:${own}`
        return { identifier, type: CARD_TYPE, url: `${getProfileUrl(request, profile)}/server-card` }
      })
    return publish(request, 'application/ai-catalog+json', { specVersion: '1.0', entries })
  }

  /** Lists a page of the servers whose name contains the search text; cursors are positions. */
  serveList(request: HttpRequest): HttpReply {
    const { query } = request
    const search = query.get('search')?.toLowerCase() ?? ''
    const found = this.profiles.filter(
      profile => this.#isUsable(request, profile) && this.getName(profile).toLowerCase().includes(search),
    )
    const servers = isCurrent(request, query.get('version') ?? 'latest') ? found : []
    const start = parseCount(query.get('cursor')) ?? 0
    const end = start + Math.min(parseCount(query.get('limit')) ?? MAX_PAGE, MAX_PAGE)
    const page = servers.slice(start, end).map(profile => this.#createEntry(request, profile))
    return replyWithList(page, end < servers.length ? String(end) : undefined)
  }

  /** Answers `…/versions` and `…/versions/{version}`. */
  serveVersions(request: HttpRequest, profile: ProfileName): HttpReply {
    if (!this.#isUsable(request, profile)) return NOT_FOUND
    const entry = this.#createEntry(request, profile)
    const version = request.path.split('/')[5]
    if (version === undefined) return replyWithList([entry])
    return isCurrent(request, version) ? reply('application/json', entry, PRIVATE) : NOT_FOUND
  }

  #isUsable({ caller: principal }: HttpRequest, profile: ProfileName): boolean {
    return profile === undefined || this.#getProfile({ principal, profile }) === profile
  }

  #createEntry(request: HttpRequest, profile: ProfileName): object {
    const server = { $schema: SERVER_SCHEMA, ...this.#describe(request, profile) }
    return { server, _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } } }
  }

  /** Creates the members that a server card and a registry entry share. */
  #describe(request: HttpRequest, profile: ProfileName): object {
    const { title } = this.#config.server
    const headers = this.#describeKey(request)
    const suffix = profile === undefined ? '' : ` (${profile})`
    return {
      name: this.getName(profile),
      ...(title === undefined ? {} : { title: `${title}${suffix}`.slice(0, 100) }),
      ...{ description: this.#options.description, version: request.gate.info.version },
      remotes: [{ type: 'streamable-http', url: getProfileUrl(request, profile), headers }],
    }
  }

  /** Describes the header that clients ask their user for; undefined unless API keys are the only credentials. */
  #describeKey({ listener }: HttpRequest): object[] | undefined {
    const { keys, keysFile, keyHeader, jwt, certificates, listeners } = this.#config.auth ?? {}
    if ((keys ?? keysFile) === undefined || (jwt ?? certificates) !== undefined) return undefined
    if (listeners?.includes(listener) === false) return undefined
    return [{ name: keyHeader, description: 'API key of the gateway.', isRequired: true, isSecret: true }]
  }
}

/** True for the only version that the registry has. */
function isCurrent({ gate }: HttpRequest, version: string): boolean {
  return version === 'latest' || version === gate.info.version
}

/** Parses a positive number; undefined for any other text. */
function parseCount(text: string | undefined | null): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text ?? '') ? Number(text) : undefined
}

function replyWithList(servers: readonly object[], nextCursor?: string): HttpReply {
  return reply('application/json', { servers, metadata: { nextCursor, count: servers.length } }, PRIVATE)
}

const PRIVATE = { 'cache-control': 'private, no-cache' }

/** Lists the paths for one server's versions, as clients encode its name. */
function listVersionPaths(name: string): string[] {
  const encoded = [encodeURIComponent(name), encodeURIComponent(name).replace('%2F', '%2f')]
  return encoded.flatMap(one => [`${REGISTRY_PATH}/${one}/versions`, `${REGISTRY_PATH}/${one}/versions/*`])
}

/** Reverses a host name's labels; an address stays as it is. */
function reverseHost(host: string): string {
  const plain = host.replaceAll(/[^A-Za-z0-9.-]/g, '-').replaceAll(/^-|-$/g, '')
  return /^[\d.]+$/.test(plain) ? plain : plain.split('.').reverse().join('.')
}

function getProfileUrl({ endpoint }: HttpRequest, profile: ProfileName): string {
  return getProfilePath(endpoint, profile)
}

function getProfilePath(path: string, profile: ProfileName): string {
  return profile === undefined ? path : `${path}/${profile}`
}

/** Answers with a public document that browsers may read from any origin. */
function publish(request: HttpRequest, type: string, document: object): HttpReply {
  const etag = `"${createHash('sha256').update(JSON.stringify(document)).digest('base64url')}"`
  const headers = {
    etag,
    'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'ETag',
  }
  const isUnchanged = request.header('if-none-match').includes(etag)
  return isUnchanged ? { status: 304, headers } : reply(type, document, headers)
}

function reply(type: string, document: object, headers: Readonly<Record<string, string>>): HttpReply {
  return { status: 200, headers: { ...headers, 'content-type': type }, body: JSON.stringify(document) }
}
