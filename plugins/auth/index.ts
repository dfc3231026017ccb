import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import {
  gatewayError,
  reasonOf,
  type Config,
  type Plugin,
  type PluginApi,
  STRANGER,
} from '../../src/plugin.ts'
import { keepRules, prepareRule } from './access.ts'
import { Authenticator } from './authenticator.ts'
import { forbidden, withMetadata } from './challenge.ts'
import { check } from './check.ts'
import { ERRORS } from './errors.ts'
import { explainRules } from './explain.ts'
import { KeyRing, readKeys } from './key-ring.ts'
import { checkResource, metadataPaths } from './resource.ts'
import { impliedBy } from './scopes.ts'
import type { VerifyToken } from './tokens.ts'

type AuthConfig = NonNullable<Config['auth']>

/** Finds out who sends an HTTP request, by API key, JWT or certificate, and keeps the rules of who may use what. */
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
      open.has(credentials.path) ? STRANGER : authenticator.identify(credentials),
    )
    if (authenticator.hasIssuers && config.policy !== undefined)
      hooks.response.tap({ stage: 'policy' }, (answer, { session }) =>
        withMetadata(answer, authenticator.metadataOf(session.listener)),
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

async function keyRing({ options, directory }: PluginApi<AuthConfig>): Promise<KeyRing> {
  const { keys = [], keysFile } = options
  const withImplied = impliedBy(options.implies)
  if (keysFile === undefined) return new KeyRing(keys, withImplied)
  const path = isAbsolute(keysFile) ? keysFile : join(directory, keysFile)
  return new KeyRing([...keys, ...readKeys(await textOf(path), keysFile)], withImplied)
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
  config,
  directory,
  clock,
  log,
  fetch,
}: PluginApi<AuthConfig>): Promise<VerifyToken | undefined> {
  if (options.jwt === undefined) return undefined
  const { tokenVerifier } = await import('./tokens.ts')
  const around = { directory, clock, log, fetch }
  return tokenVerifier(options.jwt, around, impliedBy(options.implies), config.policy !== undefined)
}

function httpListeners({ listeners }: Config): string[] {
  return Object.keys(listeners).filter(name => listeners[name]?.type !== 'stdio')
}
