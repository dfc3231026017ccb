import type { RequestOptions } from '../api/gateway.ts'
import type { JsonObject } from '../api/index.ts'
import type { LoadedConfig } from '../config/finish.ts'
import { GatewayError, gatewayError } from '../errors/errors.ts'
import { healthFrom, type Health } from '../errors/health.ts'
import { builtins } from '../gateway/builtins.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { askedConfig } from '../gateway/inspect.ts'
import { type Planned, plannedIn, withDigestsOf } from '../gateway/plan/plan.ts'
import { isObject, objectsIn } from '../protocol/json/json.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Request of the gateway's owner. */
export interface Verb {
  readonly verb: string
  readonly params: JsonObject
}

/** Workers, as far as verbs need them. */
interface SteeredWorkers {
  readonly owned: Pick<Gateway, 'upstreams' | 'control' | 'plan'>
  readonly processes: readonly WorkerProcess[]
  readonly listeners: readonly object[]
  readonly startedAt: number | undefined
  readonly source: LoadedConfig
  reload(): Promise<object>
}

/** Verbs that one worker answers for all: they would say the same, or must be done only once. */
const ASKED_ONCE: ReadonlySet<string> = new Set([
  'client.request',
  'explain',
  'listing',
  'upstream.definitions',
  ...builtins.flatMap(({ sharedVerbs = [] }) => sharedVerbs),
])

/** Verbs of plugins that keep what they are about with the shared servers. */
const OWNER_VERBS: ReadonlySet<string> = new Set(builtins.flatMap(({ ownerVerbs = [] }) => ownerVerbs))

type Answer = (workers: SteeredWorkers, asked: Verb) => Promise<JsonObject>

/** Verbs about the whole, which no worker could answer. */
const OF_ALL: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['reload', async workers => ({ ...(await workers.reload()) })],
  ['ps', overview],
  ['inspect', overview],
  ['health', async workers => ({ ...(await healthOfAll(workers)) })],
  ['plan', plan],
  ['plan.present', present],
  // Each worker has but its part of what is bounded.
  ['config', async ({ source }, { params }) => ({ ...askedConfig({ ...params, config: true }, source) })],
  ['catalogue.list', async (workers, asked) => entriesOf(await askAll(workers, asked))],
])

/** Runs one verb on all that it concerns, and answers as a gateway of one process does. */
export async function controlAll(
  workers: SteeredWorkers,
  asked: Verb,
  options: RequestOptions,
): Promise<JsonObject> {
  const { verb, params } = asked
  const own = OF_ALL.get(verb)
  if (own !== undefined) return own(workers, asked)
  const isOfOwner = verb.startsWith('upstream.') && workers.owned.upstreams.has(String(params.upstream))
  if (isOfOwner || OWNER_VERBS.has(verb)) return workers.owned.control(verb, params, options)
  return ASKED_ONCE.has(verb) ? askOne(workers, asked) : joined(await askAll(workers, asked))
}

/** The present, as one worker knows it: each has but a part of some bounds, so that the file says what those are. */
async function present(workers: SteeredWorkers, asked: Verb): Promise<JsonObject> {
  return withDigestsOf(workers.source.config, await askOne(workers, asked), asked.params.salt)
}

function plan(workers: SteeredWorkers, { params }: Verb): Promise<JsonObject> {
  const ask = (verb: string, asked: JsonObject): Promise<JsonObject> =>
    controlAll(workers, { verb, params: asked }, {})
  const planned = async (salt: string): Promise<Planned> => plannedIn(await ask('plan.present', { salt }))
  return workers.owned.plan({ loaded: workers.source, control: ask, planned }, params)
}

/** Has one ready worker carry out the verb: a client's request must be made only once. */
async function askOne(workers: SteeredWorkers, asked: Verb): Promise<JsonObject> {
  const ready = workers.processes.find(({ isReady }) => isReady)
  if (ready === undefined) throw gatewayError('GW_WORKER_GONE')
  return (await ready.request('control', asked)) as JsonObject
}

/** The answer of one worker, with the shared servers as their owner sees them, and the list of workers. */
async function overview(workers: SteeredWorkers, asked: Verb): Promise<JsonObject> {
  const [own, [first, ...others]] = await Promise.all([
    workers.owned.control(asked.verb === 'ps' ? 'ps' : 'inspect'),
    askAll(workers, asked),
  ])
  // None is there at this moment: what all share is all there is to see.
  if (first === undefined) return { ...own, listeners: workers.listeners, workers: await processes(workers) }
  const owned = rowsOf(own)
  const rows = [...rowsOf(first)].map(([name, row]) => {
    const shared = owned.get(name)
    if (shared === undefined) return together(row, others, name)
    return row.offers === undefined ? shared : { ...shared, offers: row.offers }
  })
  const { gateway } = own
  const about = isObject(gateway) ? { gateway: { ...gateway, startedAt: workers.startedAt } } : {}
  return {
    ...first,
    ...about,
    ...askedConfig(asked.params, workers.source),
    // Each process has its own.
    load: undefined,
    ...(asked.verb === 'ps' ? { health: await healthOfAll(workers) } : {}),
    workers: await processes(workers),
    upstreams: rows,
  }
}

/** Findings of all processes, each once. */
async function healthOfAll(workers: SteeredWorkers): Promise<Health> {
  const asked = { verb: 'health', params: {} }
  const all = await Promise.all([workers.owned.control('health'), askAll(workers, asked)])
  const findings = all.flat().flatMap(one => (one as unknown as Health).findings)
  // The owner of the shared servers may have none, where each worker dials its own.
  return healthFrom(findings.filter(({ code }) => code !== 'no-upstreams' || all[1].length === 0))
}

function rowsOf({ upstreams }: JsonObject): Map<unknown, JsonObject> {
  return new Map((upstreams as JsonObject[]).map(row => [row.name, row] as const))
}

/** One server that each worker dials: as it is at the first, with the load of all. */
function together(row: JsonObject, others: readonly JsonObject[], name: unknown): JsonObject {
  const same = others.flatMap((other): JsonObject[] =>
    [rowsOf(other).get(name)].filter(one => one !== undefined),
  )
  const all = [row, ...same]
  const runtimes = all.map(one => one.runtime).filter(isObject)
  const [first] = runtimes
  if (first === undefined) return row
  const sum = (key: string): number =>
    runtimes.reduce((total, runtime) => total + Number(runtime[key] ?? 0), 0)
  const instances = runtimes.flatMap(runtime => runtime.instances)
  return { ...row, runtime: { ...first, instances, restarts: sum('restarts'), inFlight: sum('inFlight') } }
}

function processes(workers: SteeredWorkers): Promise<JsonObject[]> {
  return Promise.all(
    workers.processes.map(async worker => {
      const { number, pid, startedAt, restarts, isReady } = worker
      const figures = await worker.request('figures').catch(() => ({}))
      return { worker: number, ready: isReady, pid, startedAt, restarts, ...(figures as JsonObject) }
    }),
  )
}

/** The answers of those that are there. */
async function askAll(workers: SteeredWorkers, asked: Verb): Promise<JsonObject[]> {
  const answers = await Promise.all(workers.processes.map(worker => ask(worker, asked)))
  return answers.filter(answer => answer !== undefined)
}

async function ask(worker: WorkerProcess, asked: Verb): Promise<JsonObject | undefined> {
  try {
    return (await worker.request('control', asked)) as JsonObject
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'GW_WORKER_GONE') return undefined
    throw error
  }
}

/** Numbers are added, lists are put one behind the other, and all else is as the first says. */
function joined(answers: readonly JsonObject[]): JsonObject {
  const [first, ...others] = answers
  if (first === undefined) throw gatewayError('GW_WORKER_GONE')
  const all = others.reduce((sum, other) => ({ ...sum, ...mapped(sum, other) }), first)
  return all
}

/** All that servers have listed to any worker, each once: most of it is the same. */
function entriesOf(answers: readonly JsonObject[]): JsonObject {
  if (answers.length === 0) throw gatewayError('GW_WORKER_GONE')
  const known = new Map<string, JsonObject>()
  for (const row of answers.flatMap(({ entries }) => objectsIn(entries))) {
    const { kind, upstream, original } = row
    const name = JSON.stringify([kind, upstream, original])
    if (!known.has(name)) known.set(name, row)
  }
  return { entries: [...known.values()] }
}

function mapped(one: JsonObject, other: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(other).map(([key, value]) => {
      const before = one[key]
      if (typeof before === 'number' && typeof value === 'number') return [key, before + value]
      if (Array.isArray(before) && Array.isArray(value))
        return [key, [...(before as unknown[]), ...(value as unknown[])]]
      return [key, before ?? value]
    }),
  )
}
