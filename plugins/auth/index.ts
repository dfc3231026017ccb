import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type {
  Call,
  CatalogEntry,
  Config,
  ExplainStep,
  Plugin,
  PluginApi,
  PluginHooks,
  Principal,
  Report,
} from '../../src/plugin.ts'
import {
  ANONYMOUS,
  gatewayError,
  checkKnownName,
  readList,
  readMap,
  suggestHint,
  getErrorMessage,
  STRANGER,
  readText,
  readValue,
} from '../../src/plugin.ts'
import type { AccessRule } from './access.ts'
import { evaluateRules, enforceRules, prepareRule } from './access.ts'
import { Authenticator } from './authenticator.ts'
import { ERRORS, createForbidden, addMetadata } from './challenge.ts'
import { KeyRing, readKeys } from './api-keys.ts'
import { checkResource, listMetadataPaths } from './protected-resource.ts'
import { createScopeExpander, OFFLINE } from './implied-scopes.ts'
import type { VerifyToken } from './tokens.ts'

const KEY = 'key:'

const TOKEN = 'token:'

/** Explains the rules for a call, and resolves `key:<name>` and `token:<subject>`. */
function explainRules(
  hooks: PluginHooks,
  rules: readonly AccessRule[],
  keys: KeyRing,
  issuers: readonly string[],
): void {
  const findCaller = (name: string): Principal | undefined => {
    if (name.startsWith(KEY)) return findKeyPrincipal(name.slice(KEY.length), keys)
    const [issuer, second] = issuers
    if (!name.startsWith(TOKEN) || issuer === undefined) return undefined
    const text = name.slice(TOKEN.length)
    const own = issuers.find(one => text.startsWith(`${one} `))
    if (own === undefined && second !== undefined) return undefined
    const subject = own === undefined ? text : text.slice(own.length + 1).trimStart()
    return { issuer: own ?? issuer, client: '', subject, scopes: [] }
  }
  hooks.services.tap(services => ({ ...services, findCaller }))
  hooks.explain.tap((steps, { exchange, entry, call }) => {
    const { principal } = exchange
    if (principal === ANONYMOUS) return [...steps, describeOwnerPipe()]
    const subject = entry ?? findHiddenEntry(steps, exchange.params?.name, call)
    const about = subject === undefined ? [] : rules.filter(rule => rule.isAbout(subject))
    const [first] = about
    const rule = first === undefined ? {} : { rule: `/auth/rules/${rules.indexOf(first)}` }
    return [...steps, { by: 'auth', at: 'request', ...describeVerdict(about, principal), ...rule }]
  })
}

function findKeyPrincipal(name: string, keys: KeyRing): Principal {
  const principal = keys.findByName(name)
  if (principal !== undefined) return principal
  throw gatewayError('GW_CALLER_UNKNOWN', { caller: `${KEY}${name}`, known: suggestHint(name, keys.names) })
}

function describeOwnerPipe(): ExplainStep {
  return {
    by: 'auth',
    at: 'request',
    does: 'passes',
    text: 'access rules do not apply to clients on stdio or a local socket; specify a caller with --as',
  }
}

/** Finds a hidden tool in the step that names its upstream; an unknown one only has the upstream of the call. */
function findHiddenEntry(
  steps: readonly ExplainStep[],
  name: unknown,
  call: Call | undefined,
): CatalogEntry | undefined {
  const listed = steps.find(({ at }) => at === 'listing')?.facts?.upstream
  const isHidden = typeof listed === 'string' && typeof name === 'string'
  const upstream = isHidden ? listed : call?.upstream
  const tool = isHidden ? name : ''
  return upstream === undefined ? undefined : { kind: 'tools', upstream, original: tool, exposed: tool, value: {} }
}

function describeVerdict(about: readonly AccessRule[], principal: Principal): Pick<ExplainStep, 'does' | 'text'> {
  const verdict = evaluateRules(about, principal)
  if (verdict === 'hidden') return { does: 'refuses', text: 'denied by a rule' }
  if (verdict === 'allowed')
    return { does: 'passes', text: about.length === 0 ? 'no rule applies' : 'allowed by the rules' }
  const missing = verdict.needs.filter(one => !principal.scopes.includes(one))
  return { does: 'refuses', text: `missing scope ${missing.join(', ')}` }
}

/** Listener path settings. */
const PATHS = [['path'], ['sse', 'path'], ['sse', 'messages'], ['ws', 'path']] as const

/** Checks that listeners exist and that anonymous callers do not share state. */
function check(config: unknown, report: Report): void {
  const auth = readValue(config, 'auth')
  if (auth === undefined) return
  const names = Object.keys(readMap(config, 'listeners'))
  readList(auth, 'listeners').forEach((name, i) =>
    checkKnownName(name, { what: 'listener', names }, `/auth/listeners/${i}`, report),
  )
  checkOpenPaths(config, auth, report)
  checkCertificates(config, auth, report)
  readList(auth, 'rules').forEach((rule, i) =>
    readList(rule, 'scopes').forEach((scope, j) => {
      if (scope === OFFLINE)
        report({
          pointer: `/auth/rules/${i}/scopes/${j}`,
          message: `"${OFFLINE}" has no effect: clients request refresh tokens from the issuer themselves`,
          hint: 'use a scope that describes the access',
        })
    }),
  )
}

/** Checks that listeners with certificate callers request client certificates. */
function checkCertificates(config: unknown, auth: unknown, report: Report): void {
  if (readValue(auth, 'certificates') === undefined) return
  const covered = readList(auth, 'listeners')
  const listeners = readMap(config, 'listeners')
  const asksCredentials = Object.keys(listeners).some(
    name =>
      (covered.length === 0 || covered.includes(name)) && readText(listeners, name, 'tls', 'clientCa') !== undefined,
  )
  if (asksCredentials) return
  report({
    pointer: '/auth/certificates',
    message: 'no listener requests client certificates',
    hint: 'set "tls.clientCa" of an HTTP listener to the trusted CA certificates',
    on: 'key',
  })
}

/** Anonymous callers are indistinguishable, so they would share sessions, tasks and parked calls. */
function checkOpenPaths(config: unknown, auth: unknown, report: Report): void {
  const covered = readList(auth, 'listeners')
  const listeners = readMap(config, 'listeners')
  const names = Object.keys(listeners).filter(name => covered.length === 0 || covered.includes(name))
  const profiles = Object.keys(readMap(config, 'profiles'))
  const isEndpoint = (path: string): boolean =>
    names.some(name => {
      const paths = PATHS.map(keyPath => readText(listeners, name, ...keyPath))
      return paths.includes(path) || profiles.some(profile => path === `${paths[0]}/${profile}`)
    })
  readList(auth, 'except').forEach((path, i) => {
    if (typeof path !== 'string') return
    const isRestCall = readValue(config, 'rest') !== undefined && path.endsWith('/tools/call')
    if (!isRestCall && !isEndpoint(path)) return
    report({
      pointer: `/auth/except/${i}`,
      message: `"${path}" accepts tool calls, and anonymous callers would share sessions and tasks there`,
      hint: 'use a separate listener that "auth.listeners" omits, or give the clients a key',
    })
  })
}

type AuthConfig = NonNullable<Config['auth']>

/** Authenticates HTTP requests by API key, JWT or certificate, and enforces access rules. */
export const auth: Plugin<AuthConfig> = {
  name: 'auth',
  claims: { section: 'auth' },
  check,
  errors: ERRORS,
  async setup(api) {
    const { options, config, hooks } = api
    const listeners = options.listeners ?? listHttpListeners(config)
    checkResource(options, config, listeners)
    const keys = await loadKeyRing(api)
    const authenticator = new Authenticator(api, keys, await createVerifier(api))
    const paths = listMetadataPaths(options, config, listeners)
    const open = new Set([...options.except, ...(authenticator.hasIssuers ? paths : [])])
    hooks.authenticate.tap({ stage: 'identify', listeners }, credentials =>
      open.has(credentials.path) ? STRANGER : authenticator.identify(credentials),
    )
    if (authenticator.hasIssuers && config.policy !== undefined)
      hooks.response.tap({ stage: 'policy' }, (answer, { session }) =>
        addMetadata(answer, authenticator.getMetadataUrl(session.listener)),
      )
    if (authenticator.hasIssuers)
      for (const path of paths) hooks.http.for(path).tap(request => authenticator.serveMetadata(request))
    const rules = options.rules.map(rule => prepareRule(rule, options))
    enforceRules(rules, hooks, (exchange, subject, scopes) =>
      createForbidden(subject, scopes, authenticator.getMetadataUrl(exchange.session.listener)),
    )
    explainRules(hooks, rules, keys, options.jwt?.map(({ issuer }) => issuer) ?? [])
  },
}

async function loadKeyRing({ options, directory }: PluginApi<AuthConfig>): Promise<KeyRing> {
  const { keys = [], keysFile } = options
  const withImplied = createScopeExpander(options.implies)
  if (keysFile === undefined) return new KeyRing(keys, withImplied)
  const text = await readFile(resolve(directory, keysFile), 'utf8').catch((cause: unknown) => {
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why: getErrorMessage(cause), cause })
  })
  return new KeyRing([...keys, ...readKeys(text, keysFile)], withImplied)
}

/** Loads the JWT library only if tokens are accepted. */
async function createVerifier({
  options,
  config,
  directory,
  clock,
  log,
  fetch,
}: PluginApi<AuthConfig>): Promise<VerifyToken | undefined> {
  if (options.jwt === undefined) return undefined
  const { createTokenVerifier } = await import('./tokens.ts')
  const around = { directory, clock, log, fetch }
  return createTokenVerifier(options.jwt, around, createScopeExpander(options.implies), config.policy !== undefined)
}

function listHttpListeners({ listeners }: Config): string[] {
  return Object.keys(listeners).filter(name => listeners[name]?.type !== 'stdio')
}
