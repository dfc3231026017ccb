import type { Problem } from '../config/problem.ts'
import { addErrors, GatewayError, gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { TapTimeout } from '../hooks/tap-guard.ts'
import { withTimeout } from '../hooks/tap-guard.ts'
import { Hooks } from '../hooks/hooks.ts'
import type { Clock, Config, Fetch, Handles, Log, Programs, SharedStore } from '../api/index.ts'
import { parseDuration } from '../util/units.ts'
import type { LocateFinding } from './plugin-failure.ts'
import { describePluginError, locateInPluginFile } from './plugin-failure.ts'
import { checkPluginOptions, runPluginCheck } from './options.ts'
import type { Plugin, PluginApi } from '../plugin.ts'
import type { PrivatePath } from '../util/private-path.ts'
import type { ChosenPlugin } from './resolve.ts'
import type { SlotTable } from './slots.ts'

/** Generous, because setup may load many modules. */
const MAX_SETUP_MS = 60_000

interface InstallDeps {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly slots: SlotTable
  readonly directory: string
  readonly files: readonly string[]
  readonly privatePlaces: readonly PrivatePath[]
  readonly fetch: Fetch
  readonly programs: Programs
  /** Creates one plugin's handles, which no other plugin can use. */
  handles(plugin: string): Handles
  /** Runs an owner verb. */
  readonly control: PluginApi['control']
  /** Forwards a notification that a plugin received from a peer. */
  readonly upstreamSays: PluginApi['emitNotification']
  readonly getListenerUrl: PluginApi['getListenerUrl']
  /** Directory for persistent plugin state. */
  state(plugin: Plugin<never>): string | undefined
  hide(text: string): string
  /** Redacts a secret that was received at run time. */
  keepSecret(value: string): void
  /** Finds a problem's position in the configuration. */
  readonly locate: LocateFinding
  /** Handles configuration warnings from plugins. */
  warn(problem: Problem): void
}

/** Sets plugins up in order and seals their hooks. Any error stops the start and names the plugin. */
export async function installPlugins(chosen: readonly ChosenPlugin[], context: InstallDeps): Promise<Hooks> {
  const { clock, config, log } = context
  const ms = parseDuration(config.hooks.timeout)
  const patience = ms === 0 ? undefined : { clock, ms }
  const hooks = new Hooks(
    error => log.error(getErrorMessage(error), error instanceof GatewayError ? { ...error.fields } : {}),
    patience,
    error => describePluginError(error, context.directory),
  )
  try {
    let store: SharedStore | undefined
    for (const one of chosen) {
      await setUpPlugin(one, hooks, context, patience, store)
      if (one.plugin.early === true) store = hooks.services.store
    }
    hooks.seal(new Set(chosen.map(({ plugin }) => plugin.name)))
  } catch (error) {
    await hooks.getRunner('close')?.()
    throw error
  }
  return hooks
}

async function setUpPlugin(
  one: ChosenPlugin,
  hooks: Hooks,
  context: InstallDeps,
  createPatience: TapTimeout | undefined,
  store: SharedStore | undefined,
): Promise<void> {
  const { plugin } = one
  const { log, slots, privatePlaces, handles, upstreamSays, state, keepSecret, locate, warn, ...shared } = context
  addErrors(plugin.errors ?? {})
  const options = await checkPluginOptions(one, locate)
  runPluginCheck(one, options, shared.config, locate, warn)
  try {
    const done = plugin.setup({
      ...shared,
      options: options as never,
      hooks: hooks.createFacade(plugin.name, one.from === 'built-in'),
      log: log.child({ plugin: plugin.name }),
      privatePaths: privatePlaces,
      handles: handles(plugin.name),
      emitNotification: upstreamSays,
      state: state(plugin),
      addSecret: keepSecret,
      ...createQueries(hooks),
      shared: createPluginStore(plugin.name, store),
      slot: slots.createSlotMaker(plugin.name),
      parseYaml: async text => (await import('../config/source/plain-yaml.ts')).fromYaml(text),
    })
    const longer = createPatience && { ...createPatience, ms: Math.max(createPatience.ms, MAX_SETUP_MS) }
    await withTimeout(Promise.resolve(done), { plugin: plugin.name, hook: 'setup' }, longer)
  } catch (cause) {
    throw await wrapSetupError(one, cause, locate)
  }
}

/** Creates the queries that a plugin may send to other plugins' taps. */
function createQueries(
  hooks: Hooks,
): Pick<PluginApi, 'record' | 'requestApproval' | 'getClientLimits' | 'getReplicaId'> {
  return {
    record: event => hooks.getRunner('auditEvent')?.(event),
    requestApproval: async request => (await hooks.getRunner('approval')?.(request)) ?? undefined,
    getReplicaId: () => hooks.services.peers?.sealing.replicaId,
    getClientLimits: name => hooks.services.getClientLimits?.(name) ?? {},
  }
}

/** Wraps a setup error: a GatewayError keeps its code, and an options error gets its position. */
async function wrapSetupError(
  { plugin, pointer, url }: ChosenPlugin,
  cause: unknown,
  locate: LocateFinding,
): Promise<GatewayError> {
  const { name } = plugin
  if (cause instanceof GatewayError) {
    if (cause.code !== 'GW_PLUGIN_OPTIONS' || pointer === '' || cause.fields.problems !== undefined) return cause
    const at = url === undefined ? pointer : `${pointer}/options`
    const problem = locate({ pointer: at, message: String(cause.fields.why), on: 'key' })
    return gatewayError(cause.code, { ...cause.fields, problems: [problem], cause })
  }
  const problem = locate({ pointer, message: `setup failed: ${getErrorMessage(cause)}`, on: 'key' })
  if (url === undefined) return gatewayError('GW_PLUGIN_SETUP', { plugin: name, why: getErrorMessage(cause), cause })
  const problems = [await locateInPluginFile(cause, url, problem)]
  return gatewayError('GW_PLUGIN_SETUP', { plugin: name, why: getErrorMessage(cause), problems, cause })
}

const MAX_KEY = 1024
const MAX_VALUE = 256 * 1024
const MAX_MS = 366 * 86_400_000
/** Largest number that every store counts exactly. */
const MAX_COUNT = 2 ** 50

/** Wraps the shared store for one plugin: with its own keys and topics, and with limits. */
export function createPluginStore(plugin: string, store: SharedStore | undefined): SharedStore | undefined {
  if (store === undefined) return undefined
  const own = (key: string): string => {
    if (key.length < 1 || key.length > MAX_KEY) throw new RangeError(`a key must have 1 to ${MAX_KEY} characters`)
    return `${plugin} ${key}`
  }
  return {
    get isUp() {
      return store.isUp
    },
    get processCount() {
      return Math.max(1, store.processCount)
    },
    get: async key => store.get(own(key)),
    put: async (key, value, options) => {
      if (value.length > MAX_VALUE) throw new RangeError(`a value must have at most ${MAX_VALUE} characters`)
      checkExpiry(options.expiresInMs)
      return store.put(own(key), value, options)
    },
    take: async key => store.take(own(key)),
    delete: async (key, is) => store.delete(own(key), is),
    addToCounter: async (key, request) => {
      checkExpiry(request.expiresInMs)
      checkLength(request.max, request.initial, Math.abs(request.delta))
      return store.addToCounter(own(key), request)
    },
    publish: async (topic, text) => {
      if (text.length > MAX_VALUE) throw new RangeError(`a message must have at most ${MAX_VALUE} characters`)
      return store.publish(own(topic), text)
    },
    subscribe: (topic, onMessage, missed) => store.subscribe(own(topic), onMessage, missed),
    seal: (text, boundTo) => store.seal(text, own(boundTo)),
    open: (sealed, boundTo) => store.open(sealed, own(boundTo)),
  }
}

function checkExpiry(ms: number): void {
  if (!Number.isInteger(ms) || ms < 1 || ms > MAX_MS)
    throw new RangeError(`a duration must be an integer from 1 to ${MAX_MS} ms`)
}

function checkLength(...numbers: readonly (number | undefined)[]): void {
  for (const number of numbers)
    if (number !== undefined && !(Number.isInteger(number) && number >= 0 && number <= MAX_COUNT))
      throw new RangeError(`a count must be an integer from 0 to ${MAX_COUNT}`)
}
