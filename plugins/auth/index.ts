import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import {
  gatewayError,
  reasonOf,
  type Config,
  type Credentials,
  type HttpReply,
  type HttpRequest,
  type Log,
  type Plugin,
  type PluginApi,
  type Principal,
  type Refusal,
} from '../../src/plugin.ts'
import { keepRules, prepareRule } from './access.ts'
import { digestOf, KeyRing, readKeys, Remembered } from './key-ring.ts'
import { forbidden, metadataPath, metadataUrl, unauthorized, WELL_KNOWN, credentialOf } from './challenge.ts'
import { check } from './check.ts'
import { ERRORS } from './errors.ts'
import { explainRules } from './explain.ts'
import type { VerifyToken } from './tokens.ts'

type AuthConfig = NonNullable<Config['auth']>

/** Whoever uses a path that is open to all. Not `ANONYMOUS`, which is the owner's own pipe. */
const NOBODY_YET: Principal = Object.freeze({
  issuer: 'http',
  client: '',
  subject: 'anonymous',
  scopes: Object.freeze([]),
})

/** Finds out who sends an HTTP request, by API key or JWT, and keeps the rules of who may use what. */
export const auth: Plugin<AuthConfig> = {
  name: 'auth',
  claims: { section: 'auth' },
  check,
  errors: ERRORS,
  async setup(api) {
    const { options, config, hooks } = api
    const listeners = options.listeners ?? httpListeners(config)
    checkResource(options, config, listeners)
    const keys = await keyRing(api)
    const authenticator = new Authenticator(api, keys, await verifier(api))
    const paths = metadataPaths(options, config, listeners)
    const open = new Set([...options.except, ...(authenticator.hasIssuers ? paths : [])])
    hooks.authenticate.tap({ stage: 'identify', listeners }, credentials =>
      open.has(credentials.path) ? NOBODY_YET : authenticator.identify(credentials),
    )
    if (authenticator.hasIssuers)
      for (const path of paths) hooks.http.for(path).tap(request => authenticator.describe(request))
    const rules = options.rules.map(rule => prepareRule(rule, options))
    keepRules(rules, hooks, (exchange, what, scopes) =>
      forbidden(what, scopes, authenticator.metadataOf(exchange.session.listener)),
    )
    explainRules(hooks, rules, keys, options.jwt?.map(({ issuer }) => issuer) ?? [])
  },
}

/** Lets callers in, or says what they need. */
class Authenticator {
  readonly hasIssuers: boolean
  readonly #options: AuthConfig
  readonly #keys: KeyRing
  readonly #verify: VerifyToken | undefined
  readonly #remembered: Remembered
  readonly #log: Log
  /** By listener: the configuration names few. */
  readonly #resources = new Map<string, string>()
  /** Scopes that every request needs. */
  readonly #scopes: readonly string[]

  constructor(
    { options, clock, log }: PluginApi<AuthConfig>,
    keys: KeyRing,
    verify: VerifyToken | undefined,
  ) {
    this.hasIssuers = verify !== undefined
    this.#options = options
    this.#keys = keys
    this.#verify = verify
    this.#remembered = new Remembered(clock)
    this.#log = log
    this.#scopes = scopesOf(options.rules.filter(rule => prepareRule(rule, options).isGeneral))
  }

  identify(credentials: Credentials): Principal | Refusal | Promise<Principal | Refusal> {
    const { listener } = credentials
    this.#resources.set(listener, this.#resourceOf(credentials))
    const shown = credentialOf(credentials, this.#options.keyHeader)
    if (shown.kind === 'none') return this.#ask(listener)
    if (shown.kind === 'bad') return this.#refuse(listener, shown.why)
    if (shown.isToken && this.#verify !== undefined)
      return this.#byToken(shown.secret, listener, this.#verify)
    return this.#keys.find(shown.secret) ?? this.#refuse(listener, 'the API key is not known')
  }

  #resourceOf({ endpoint }: Credentials): string {
    return this.#options.resource ?? endpoint
  }

  async #byToken(token: string, listener: string, verify: VerifyToken): Promise<Principal | Refusal> {
    const resource = this.#resources.get(listener) ?? ''
    // A token that is good for one listener's resource may not be for another's.
    const key = `${listener} ${digestOf(token).toString('base64')}`
    const known = this.#remembered.get(key)
    if (known !== undefined) return known
    try {
      const verified = await verify(token, resource)
      this.#remembered.set(key, verified)
      return verified.principal
    } catch (error) {
      return this.#refuse(listener, reasonOf(error))
    }
  }

  #ask(listener: string): Refusal {
    return unauthorized(`no API key and no token was sent; ${this.#howTo}`, {
      scopes: this.#scopes,
      metadata: this.metadataOf(listener),
    })
  }

  /** Challenge for a caller without a credential. */
  get #howTo(): string {
    const { keys, keysFile, keyHeader } = this.#options
    if (keys === undefined && keysFile === undefined) return 'send "Authorization: Bearer <token>"'
    const what = this.hasIssuers ? 'API key or token' : 'API key'
    return `send "Authorization: Bearer <${what}>" or "${keyHeader}: <API key>"`
  }

  #refuse(listener: string, why: string): Refusal {
    this.#log.debug('a credential was not accepted', { listener, reason: why })
    return unauthorized(`the credential is not valid; ${this.#howTo}`, {
      error: 'invalid_token',
      scopes: this.#scopes,
      metadata: this.metadataOf(listener),
    })
  }

  /** URL at which a client learns who gives tokens; undefined when nobody does. */
  metadataOf(listener: string): string | undefined {
    const resource = this.#resources.get(listener)
    return this.hasIssuers && resource !== undefined ? metadataUrl(resource) : undefined
  }

  /** The metadata of the protected resource (RFC 9728). */
  describe(request: HttpRequest): HttpReply | undefined {
    if (request.method !== 'GET') return undefined
    const body = {
      resource: this.#resourceOf(request),
      authorization_servers: this.#options.jwt?.map(({ issuer }) => issuer),
      bearer_methods_supported: ['header'],
      scopes_supported: scopesOf(this.#options.rules),
    }
    return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  }
}

async function keyRing({ options, directory }: PluginApi<AuthConfig>): Promise<KeyRing> {
  const { keys = [], keysFile } = options
  if (keysFile === undefined) return new KeyRing(keys)
  const path = isAbsolute(keysFile) ? keysFile : join(directory, keysFile)
  return new KeyRing([...keys, ...readKeys(await textOf(path), keysFile)])
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why: reasonOf(cause), cause })
  }
}

/** Only who accepts tokens loads the library for them. */
async function verifier({
  options,
  directory,
  clock,
  log,
  fetch,
}: PluginApi<AuthConfig>): Promise<VerifyToken | undefined> {
  if (options.jwt === undefined) return undefined
  const { tokenVerifier } = await import('./tokens.ts')
  return tokenVerifier(options.jwt, { directory, clock, log, fetch })
}

function httpListeners({ listeners }: Config): string[] {
  return Object.keys(listeners).filter(name => listeners[name]?.type !== 'stdio')
}

/** A wildcard address is nobody's name: tokens cannot be made for it. */
function checkResource({ jwt, resource }: AuthConfig, config: Config, listeners: readonly string[]): void {
  if (jwt === undefined || resource !== undefined) return
  for (const name of listeners) {
    const spec = config.listeners[name]
    if (spec?.type !== 'http' || !/^(0\.0\.0\.0|\[?::\]?)$/.test(spec.host)) continue
    const why = `auth.resource must say how clients reach listener "${name}", as ${spec.host} is no name`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why })
  }
}

/** Paths of the metadata: with the path of each endpoint behind it, as bound and as clients know it, and without. */
function metadataPaths({ resource }: AuthConfig, config: Config, listeners: readonly string[]): Set<string> {
  const bound = listeners.map(name => config.listeners[name]).filter(spec => spec?.type === 'http')
  const paths = bound.map(({ path }) => metadataPath(path))
  if (resource !== undefined) paths.push(metadataPath(new URL(resource).pathname))
  return new Set([WELL_KNOWN, ...paths])
}

function scopesOf(rules: AuthConfig['rules']): string[] {
  return [...new Set(rules.flatMap(({ scopes = [] }) => scopes))]
}
