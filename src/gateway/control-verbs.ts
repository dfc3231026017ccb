import type { Load, AuditEvent, Listener } from '../api/index.ts'
import type { ClientConnection, ConnectOptions, GatewayEvents, RequestOptions, UpstreamHandle } from '../api/gateway.ts'
import { RpcFailure } from '../api/gateway.ts'
import { GatewayError, gatewayError } from '../errors/errors.ts'
import type { Health } from '../errors/health.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { checkProfile } from './check-tool-names.ts'
import { snapshotConfig } from './plan.ts'
import type { Generation } from './generation.ts'
import { measureTrees } from '../processes/resource-limits.ts'
import { suggestHint } from '../util/suggest.ts'
import { readOwnPackage } from '../util/version.ts'
import {
  cancelHostedTask,
  fetchDefinitions,
  listKnownEntries,
  listHostedTasks,
  listShownTools,
} from './verb-answers.ts'
import { explainCall } from './explain.ts'
import { describeRequestedConfig } from './inspect.ts'

const MAX_LINES = 10_000
const LINES = 100

/** Verb options other than the parameters. */
interface VerbOptions extends RequestOptions {
  /** Aborts when the gateway closes. */
  readonly ending: AbortSignal
  /** Builds the running configuration again, so that plugins read their files. */
  rebuild(): Promise<object>
}

interface VerbDeps {
  readonly generation: Pick<Generation, 'graph' | 'loaded' | 'added'>
  readonly upstreams: ReadonlyMap<string, UpstreamHandle>
  readonly listeners: readonly Listener[]
  readonly startedAt: number | undefined
  readonly load: Load
  readonly health: Health
  readonly activity: { readonly sessions: number; readonly running: number }
  on<E extends keyof GatewayEvents>(event: E, listener: (event: GatewayEvents[E]) => void): () => void
  reload(): Promise<object>
  inspect(): Promise<object>
  connect(options: ConnectOptions): Promise<ClientConnection>
}

type Verb = (gateway: VerbDeps, params: JsonObject, options: VerbOptions) => Promise<object>

/** The gateway's own verbs; plugins add more with the `control` hook. */
export const VERBS: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ['ps', getStatus],
  ['health', ({ health }) => Promise.resolve({ ...health })],
  ['metrics', gateway => Promise.resolve(collectFigures(gateway))],
  ['inspect', describeGateway],
  ['plan.present', gateway => snapshotConfig(gateway.generation)],
  ['explain', (gateway, params) => explainCall(gateway.generation.graph, checkProfileParam(gateway, params))],
  [
    'config',
    (gateway, { cwd }) => Promise.resolve(describeRequestedConfig({ config: true, cwd }, gateway.generation.loaded)),
  ],
  ['catalogue.list', (gateway, params) => Promise.resolve(listKnownEntries(gateway.generation.graph, params))],
  ['listing', (gateway, params) => listShownTools(gateway.generation.graph, checkProfileParam(gateway, params))],
  ['client.request', sendClientRequest],
  ['reload', (gateway, { same }, { rebuild }) => (same === true ? rebuild() : gateway.reload())],
  ['tasks.list', (gateway, params) => Promise.resolve(listHostedTasks(gateway.generation.graph, params))],
  ['tasks.cancel', async (gateway, params) => cancelHostedTask(gateway.generation.graph, params)],
  ['upstream.start', (gateway, params) => startUpstream(getUpstreamHandle('upstream.start', gateway, params))],
  ['upstream.stop', (gateway, params) => stopUpstream(getUpstreamHandle('upstream.stop', gateway, params))],
  ['upstream.restart', (gateway, params) => restartUpstream(getUpstreamHandle('upstream.restart', gateway, params))],
  ['upstream.logs', getLogs],
  ['upstream.definitions', getDefinitions],
])

/** Verbs without audit records: read-only polls, and requests recorded as calls. */
const UNAUDITED_VERBS: ReadonlySet<string> = new Set([
  'ps',
  'health',
  'metrics',
  'inspect',
  'explain',
  'plan.present',
  'listing',
  'client.request',
  'config',
  'catalogue.list',
  'upstream.definitions',
  'upstream.logs',
  'tasks.list',
])

/** Runs a verb on a running gateway and reports its outcome to the audit log. */
export async function runVerb(
  gateway: VerbDeps,
  verb: string,
  params: JsonObject,
  options: VerbOptions,
): Promise<JsonObject> {
  let outcome = 'ok'
  try {
    return await dispatchVerb(gateway, verb, params, options)
  } catch (error) {
    outcome = error instanceof GatewayError ? error.code : 'error'
    throw error
  } finally {
    if (!isReadOnly(gateway, verb)) auditVerb(gateway, verb, params, outcome)
  }
}

function isReadOnly({ generation }: VerbDeps, verb: string): boolean {
  if (UNAUDITED_VERBS.has(verb)) return true
  return generation.graph.hooks.taps('control').some(({ key, options }) => key === verb && options.readOnly === true)
}

function auditVerb(gateway: VerbDeps, verb: string, { upstream }: JsonObject, outcome: string): void {
  const fields: AuditEvent['fields'] = typeof upstream === 'string' ? { upstream } : {}
  gateway.generation.graph.hooks.getRunner('auditEvent')?.({ kind: 'control', name: verb, outcome, fields })
}

async function dispatchVerb(
  gateway: VerbDeps,
  verb: string,
  params: JsonObject,
  options: VerbOptions,
): Promise<JsonObject> {
  const own = VERBS.get(verb)
  if (own !== undefined) return (await own(gateway, params, options)) as JsonObject
  const { hooks } = gateway.generation.graph
  const result = await hooks.getRunner('control', verb)?.(params)
  if (result !== undefined && result !== null) return result
  const added = hooks.taps('control').flatMap(({ key }) => key ?? [])
  const knownVerbs = [...new Set([...VERBS.keys(), ...added])].join(', ')
  throw gatewayError('GW_VERB_UNKNOWN', { verb, known: knownVerbs })
}

/** Collects upstream status, plugin metrics, and counts of open sessions and running requests. */
function collectFigures({ generation: { graph }, upstreams, activity, health }: VerbDeps): object {
  const metrics = graph.hooks.getRunner('metrics')?.([]) ?? []
  return { upstreams: [...upstreams.values()].map(one => one.status()), ...activity, health, metrics }
}

async function describeGateway(gateway: VerbDeps, params: JsonObject): Promise<object> {
  return { ...describeRequestedConfig(params, gateway.generation.loaded), ...(await gateway.inspect()) }
}

/** Sends an in-process client request through the standard pipeline, with limits and records. */
async function sendClientRequest(gateway: VerbDeps, params: JsonObject, { signal }: VerbOptions): Promise<object> {
  const { method, params: sent = {}, as } = params
  if (typeof method !== 'string' || !isObject(sent))
    throw gatewayError('GW_VERB_PARAMS', {
      verb: 'client.request',
      why: '"method" must be a string and "params" an object',
    })
  const connection = await gateway.connect(as === undefined ? {} : { as: String(as) })
  try {
    return { result: await connection.request(method, sent, signal === undefined ? {} : { signal }) }
  } catch (error) {
    if (error instanceof RpcFailure) return { error: error.error }
    throw error
  } finally {
    connection.close()
  }
}

async function getStatus(gateway: VerbDeps): Promise<object> {
  const { peers } = gateway.generation.graph.hooks.services
  const rows = [...gateway.upstreams.values()].map(one => one.status())
  const trees = rows.map(({ pid, runtime }) => {
    const pids = [pid, ...(runtime?.instances.map(instance => instance.pid) ?? [])]
    return [...new Set(pids.filter(one => one !== undefined))]
  })
  const sizes = measureTrees(trees.flat())
  return {
    gateway: {
      ...readOwnPackage(),
      pid: process.pid,
      startedAt: gateway.startedAt,
      config: gateway.generation.loaded.file,
      env: gateway.generation.loaded.env,
      rss: process.memoryUsage.rss(),
    },
    listeners: gateway.listeners.map(({ name, type, url }) => ({ name, type, url })),
    load: gateway.load,
    replicas: peers?.replicas?.map(one => ({ ...one, isSelf: one.id === peers.sealing.replicaId })),
    health: gateway.health,
    upstreams: rows.map((row, index) => {
      const measured = trees[index]?.flatMap(pid => sizes.get(pid) ?? []) ?? []
      return measured.length === 0 ? row : { ...row, rss: measured.reduce((sum, size) => sum + size) }
    }),
  }
}

function getUpstreamHandle(verb: string, gateway: VerbDeps, { upstream }: JsonObject): UpstreamHandle {
  if (typeof upstream !== 'string')
    throw gatewayError('GW_VERB_PARAMS', { verb, why: '"upstream" must be the name of an upstream' })
  const handle = gateway.upstreams.get(upstream)
  if (handle !== undefined) return handle
  throw gatewayError('GW_UPSTREAM_UNKNOWN', {
    upstream,
    meant: suggestHint(upstream, [...gateway.upstreams.keys()]),
  })
}

/** Checks the profile name and returns the parameters. */
function checkProfileParam({ generation }: VerbDeps, params: JsonObject): JsonObject {
  const { profile } = params
  if (typeof profile === 'string') checkProfile(profile, generation.loaded.config)
  return params
}

async function startUpstream(upstream: UpstreamHandle): Promise<object> {
  await upstream.start()
  return toStartAnswer(upstream)
}

async function stopUpstream(upstream: UpstreamHandle): Promise<object> {
  await upstream.stop()
  return { upstream: upstream.status() }
}

async function restartUpstream(upstream: UpstreamHandle): Promise<object> {
  await upstream.restart()
  return toStartAnswer(upstream)
}

function toStartAnswer(upstream: UpstreamHandle): object {
  const { name, state, problem } = upstream.status()
  const reason = problem ?? 'no reason given'
  if (state === 'failed') throw gatewayError('GW_UPSTREAM_START', { upstream: name, why: reason })
  if (state === 'needs_auth') throw gatewayError('GW_UPSTREAM_LOGIN', { upstream: name, why: reason })
  return { upstream: upstream.status() }
}

async function getDefinitions(gateway: VerbDeps, params: JsonObject): Promise<object> {
  const { name } = getUpstreamHandle('upstream.definitions', gateway, params)
  const { graph } = gateway.generation
  const node = graph.upstreams.get(name)
  if (node === undefined) throw gatewayError('GW_UPSTREAM_DOWN', { upstream: name, why: 'it was removed' })
  return fetchDefinitions(node, graph)
}

async function getLogs(gateway: VerbDeps, params: JsonObject, options: VerbOptions): Promise<object> {
  const verb = 'upstream.logs'
  const { name, logs } = getUpstreamHandle(verb, gateway, params)
  const lines = parseLineCount(params.lines)
  if (lines === undefined)
    throw gatewayError('GW_VERB_PARAMS', { verb, why: `"lines" must be a number from 0 to ${MAX_LINES}` })
  if (logs === undefined)
    throw gatewayError('GW_VERB_PARAMS', { verb, why: `"${name}" has no local process and no log` })
  const recent = lines === 0 ? [] : logs.recent().slice(-lines)
  if (params.follow !== true) return { lines: recent }
  for (const line of recent) options.onNotification?.({ method: 'log', params: { line } })
  await followLines(gateway, name, options)
  return { lines: [] }
}

function parseLineCount(value: unknown): number | undefined {
  if (value === undefined) return LINES
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_LINES ? Number(value) : undefined
}

/** Resolves on abort, or when the logs end. */
function followLines(gateway: VerbDeps, name: string, options: VerbOptions): Promise<void> {
  const { onNotification, signal, ending } = options
  const signals = [signal, ending].filter(one => one !== undefined)
  return new Promise(resolve => {
    const leave = [
      gateway.on('log', ({ upstream, line }) => {
        if (upstream === name) onNotification?.({ method: 'log', params: { line } })
      }),
      gateway.on('reloaded', () => {
        if (!gateway.upstreams.has(name)) end()
      }),
    ]
    const end = (): void => {
      for (const one of leave) one()
      for (const one of signals) one.removeEventListener('abort', end)
      resolve()
    }
    for (const one of signals) one.addEventListener('abort', end)
    if (signals.some(one => one.aborted)) end()
  })
}
