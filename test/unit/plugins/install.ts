import type { CatalogEntry } from '../../../src/api/catalog-entry.ts'
import type { Answer, Clock, Config, Dispatch, Log, Programs, Session, Upstream } from '../../../src/api/index.ts'
import { ANONYMOUS } from '../../../src/api/principal.ts'
import { CallRecorder } from '../../../src/core/call-recorder.ts'
import { PipelineCall, PipelineExchange } from '../../../src/core/exchange.ts'
import { createHandles, Seal } from '../../../src/core/seal.ts'
import { PipelineSession } from '../../../src/core/session.ts'
import { Hooks } from '../../../src/hooks/hooks.ts'
import type { Plugin } from '../../../src/plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import type { Kind } from '../../../src/protocol/methods.ts'
import { Payload } from '../../../src/protocol/payload.ts'
import { HandClock } from '../fixtures/hand-clock.ts'

export const SILENT: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT,
}

const NO_PROGRAMS: Programs = {
  createEnvironment: () => ({}),
  launch: () => Promise.reject(new Error('no program runs in this test')),
  captureOutput: () => Promise.reject(new Error('no program runs in this test')),
  killOrphans: () => Promise.resolve(),
}

/** A configuration of which the plugin under test reads only what is given. */
export function configOf(partial: JsonObject): Config {
  return { version: 1, listeners: {}, upstreams: {}, plugins: {}, ...partial } as unknown as Config
}

/** Sets one plugin up on real hooks. */
export async function install<O>(
  plugin: Plugin<O>,
  options: O,
  config: Config = configOf({}),
  clock: Clock = new HandClock(),
): Promise<Hooks> {
  const hooks = new Hooks(error => {
    throw error
  })
  const slot = { exchange: byOwner, session: byOwner, gateway: (init: () => unknown) => init() } as never
  const hide = (text: string): string => text
  const facade = hooks.createFacade(plugin.name)
  await plugin.setup({
    options,
    config,
    hooks: facade,
    log: SILENT,
    clock,
    slot,
    directory: '.',
    fetch: () => Promise.reject(new Error('nothing is fetched in this test')),
    programs: NO_PROGRAMS,
    handles: createHandles(new Seal(), plugin.name),
    state: undefined,
    files: [],
    privatePaths: [],
    emitNotification: () => undefined,
    parseYaml: () => Promise.reject(new Error('no YAML is read in this test')),
    hide,
    addSecret: () => undefined,
    requestApproval: async () => undefined,
    getClientLimits: () => ({}),
    control: () => Promise.reject(new Error('there is no gateway here')),
    record: event => hooks.getRunner('auditEvent')?.(event),
    getReplicaId: () => undefined,
    getListenerUrl: () => undefined,
  })
  hooks.seal(new Set([plugin.name]))
  return hooks
}

function byOwner<K extends object, T>(init: (owner: K) => T): { get(owner: K): T; set(owner: K, value: T): void } {
  const values = new Map<K, T>()
  return {
    get: owner => {
      if (!values.has(owner)) values.set(owner, init(owner))
      return values.get(owner) as T
    },
    set: (owner, value) => void values.set(owner, value),
  }
}

export function sessionOf(client = 'tester', subject?: string, era: 'modern' | 'legacy' = 'modern'): Session {
  return new PipelineSession({
    id: 's',
    listener: 'test',
    principal: subject === undefined ? ANONYMOUS : { ...ANONYMOUS, subject },
    client: {
      info: { name: client, version: '1' },
      capabilities: {},
      version: era === 'modern' ? '2026-07-28' : '2025-11-25',
      era,
      logLevel: undefined,
    },
    notify: () => false,
  })
}

/** Creates records of calls, without hiding anything. */
export const RECORDER = new CallRecorder({ hide: text => text, now: () => performance.now() })

export function exchangeOf(method: string, params?: JsonObject, session: Session = sessionOf()): PipelineExchange {
  const emit = (): void => undefined
  const carrier = { emit, ask: () => Promise.resolve({ result: {} }), recorder: RECORDER }
  return new PipelineExchange(1, session, { method, params, emit }, carrier, 0)
}

export function callOf(
  upstream: string,
  method: string,
  params?: JsonObject,
  exchange: PipelineExchange = exchangeOf(method, params),
): PipelineCall {
  return new PipelineCall(upstream, method, params, exchange)
}

export function entryOf(
  kind: Kind,
  upstream: string,
  original: string,
  prefix = `${upstream}__`,
  value: JsonObject = {},
): CatalogEntry {
  return { kind, upstream, original, exposed: prefix + original, value: { name: original, ...value } }
}

/** No limit of its own. */
export const UNBOUNDED = {
  limits: { concurrency: 0, queue: 0, queueTimeout: 0 },
  breaker: false,
  retry: false,
} as const

/** An upstream that answers by function, wrapped by the plugin's dispatch taps. */
export function wrapped(hooks: Hooks, name: string, own: Dispatch, spec: JsonObject = {}): Dispatch {
  const upstream = { name, spec: { timeout: '60s', ...UNBOUNDED, ...spec } } as unknown as Upstream
  return hooks.getRunner('dispatch')?.(own, upstream) ?? own
}

export function resultOf(value: JsonObject, era: 'modern' | 'legacy' = 'legacy'): Answer {
  return { result: Payload.of(value, era) }
}

/** Lets everything that is already resolved run. */
export function soon(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
