import { rmSync } from 'node:fs'
import type { Gate, JsonObject, Log, Upstream, UpstreamConfig, UpstreamContext } from '../api/index.ts'
import type { LoadedConfig } from '../config/index.ts'
import { gatewayError, reasonOf } from '../errors/errors.ts'
import { type Gateway, makeGateway } from '../gateway/gateway.ts'
import type { Inside } from '../gateway/process-hooks.ts'
import { deepFreeze } from '../util/plain-data.ts'
import { ownEnds } from './fork.ts'
import { Channel } from './ipc/control-channel.ts'
import { type Aim, type Given, WorkerMoves } from './moves.ts'
import { type Share, isAddedToOwner, isOwned } from './partition.ts'
import { OwnerLine } from './proxy/host-client.ts'
import { gathering, ownReply } from './proxy/gather.ts'
import type { Listening } from './worker-process.ts'

/** First message to a worker. */
export interface Beginning extends Share {
  readonly number: number
  readonly count: number
  /** Directory of the sockets between the workers. */
  readonly directory: string
  /** Key of what workers seal for each other. */
  readonly key: Uint8Array
}

/** Dependencies of a worker's process. */
interface WorkerOptions {
  readonly host: NodeJS.Process
  readonly log: Log
  readonly environment: Readonly<Record<string, string | undefined>>
  /** From here on this configuration's secrets are hidden, and its log level holds. */
  follow(loaded: LoadedConfig): void
}

/** Time in milliseconds in which it is heard whether the primary has died, too, when its line has closed. */
const GONE_MS = 200

/** Runs one worker until its primary ends it, or is gone. Resolves with the exit code. */
export function runWorker(options: WorkerOptions): Promise<number> {
  const { host } = options
  const { port, stream } = ownEnds(host)
  return new Promise(resolve => {
    const worker = new Worker(
      options,
      new OwnerLine(stream, () => void setTimeout(() => resolve(1), GONE_MS)),
    )
    const end = (): void => void worker.end().then(() => resolve(0))
    const channel = new Channel(port, (what, value, handle) => worker.serve(what, value, end, handle))
    worker.channel = channel
    host.once('disconnect', () => resolve(1))
    host.once('SIGTERM', end)
    // Those of a terminal reach all its processes; the primary says what is to be done about them.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) host.on(signal, () => undefined)
    stray(options, resolve, worker)
    host.once('exit', () => {
      // The kernel closes what a process had before its children hear that they have another parent.
      if (!host.connected) worker.orphaned()
    })
  })
}

function stray({ host, log }: WorkerOptions, resolve: (code: number) => void, worker: Worker): void {
  host.on('unhandledRejection', thrown =>
    log.error('unhandled rejection', { code: 'GW_INTERNAL', reason: reasonOf(thrown) }),
  )
  host.on('uncaughtException', thrown => {
    log.error('uncaught exception, stopping', {
      code: 'GW_INTERNAL',
      reason: thrown.message,
      stack: thrown.stack,
    })
    void worker.end().then(() => resolve(1))
  })
}

type Handler = (worker: Running, value: unknown) => Promise<unknown>

interface Running {
  readonly gateway: Gateway
  readonly gate: () => Gate
  /** Makes ready for another configuration. */
  readonly become: (share: Share) => LoadedConfig
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  settled: ({ gateway }) => gateway.settled(),
  drain: ({ gateway }) => gateway.drain(),
  reload: async ({ gateway, become }, value) => {
    await gateway.reload(become(value as Share))
    return listeningOf(gateway)
  },
  control: async ({ gateway }, value) => {
    const { verb, params } = value as { verb: string; params: JsonObject }
    return gateway.control(verb, params)
  },
  figures: async ({ gate, gateway }) => {
    const { sessions, running } = gate().status()
    return { sessions, running, rss: process.memoryUsage.rss(), load: gateway.load }
  },
  page: ({ gate }, value) => ownReply(gate(), value),
}

function listeningOf({ listeners }: Gateway): Listening[] {
  return listeners.map(({ name, type, url }) => ({ name, type, url }))
}

class Worker {
  channel: Channel | undefined
  readonly #options: WorkerOptions
  readonly #owner: OwnerLine
  #running: Running | undefined
  #owned: ReadonlySet<string> = new Set()
  #dialled: ReadonlySet<string> = new Set()
  #ending: Promise<void> | undefined
  #directory: string | undefined

  constructor(options: WorkerOptions, owner: OwnerLine) {
    this.#options = options
    this.#owner = owner
  }

  async serve(what: string, value: unknown, end: () => void, handle?: object): Promise<unknown> {
    if (what === 'begin') return this.#begin(value as Beginning)
    if (what === 'end') return end()
    if (what === 'takes?') return this.#moves.isReady(value as Aim)
    if (what === 'take') return this.#moves.take(value as Given, handle)
    const handler = HANDLERS[what]
    if (this.#running === undefined || handler === undefined) throw gatewayError('GW_WORKER_GONE')
    return handler(this.#running, value)
  }

  /** Takes the directory of the sockets away, as the primary has died that would have done it. */
  orphaned(): void {
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true })
  }

  end(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    await this.#running?.gateway.close()
  }

  async #begin(beginning: Beginning): Promise<unknown> {
    const { number, directory } = beginning
    this.#directory = directory
    const { environment } = this.#options
    const become = (share: Share): LoadedConfig => this.#become(share)
    const loaded = become(beginning)
    await this.#owner.ready
    const held: { gate?: Gate } = {}
    const gate = (): Gate => {
      if (held.gate === undefined) throw gatewayError('GW_STOPPING')
      return held.gate
    }
    const inside = this.#inside(beginning, made => (held.gate = made))
    const log = this.#options.log.child({ worker: number })
    const gateway = await makeGateway(loaded, { log, environment }, inside)
    this.#running = { gateway, gate, become }
    await gateway.start()
    const pipe = gateway.listeners.find(({ type }) => type === 'stdio')
    void pipe?.ended?.then(() => this.#ask('client gone', undefined)).catch(() => undefined)
    return listeningOf(gateway)
  }

  #become({ loaded, owned }: Share): LoadedConfig {
    this.#owned = new Set(owned)
    this.#dialled = new Set(Object.keys(loaded.config.upstreams))
    this.#options.follow(loaded)
    return deepFreeze(loaded)
  }

  #inside({ count, key }: Beginning, made: (gate: Gate) => void): Inside {
    return {
      upstream: (spec, context) => this.#upstream(spec, context, count),
      role: 'worker',
      shared: this.#owner.shared(key, count),
      moves: this.#moves,
      control: (verb, params = {}) => this.#ask('control', { verb, params }) as Promise<JsonObject>,
      wrapGate: inner => {
        made(inner)
        return gathering(inner, () => this.#running?.gateway.generation.graph.config, this.#ask)
      },
    }
  }

  /** Refuses an owned upstream that a plugin adds: it is in no file, so it is not among those that the owner runs. */
  #upstream(spec: UpstreamConfig, context: UpstreamContext, workers: number): Upstream | undefined {
    const { name } = context
    if (this.#owned.has(name) || isAddedToOwner(name)) return this.#owner.upstream(spec, context)
    if (!isOwned(spec, workers)) return undefined
    // A worker's share may be less than one for each.
    if (this.#dialled.has(name)) return undefined
    const why = `a plugin adds the upstream "${name}", which each worker would have for itself`
    throw gatewayError('GW_WORKERS', { workers, why })
  }

  readonly #ask = (what: string, value: unknown, handle?: object): Promise<unknown> =>
    this.channel?.request(what, value, handle) ?? Promise.reject(gatewayError('GW_WORKER_GONE'))
  readonly #moves = new WorkerMoves(this.#ask)
}
