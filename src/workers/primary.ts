import { randomBytes } from 'node:crypto'
import { builtins } from '../gateway/builtins.ts'
import type { LoadedConfig } from '../config/index.ts'
import type { Gate, JsonObject, TextReply } from '../api/index.ts'
import { gatewayError, GatewayError, reasonOf } from '../errors/errors.ts'
import { Events } from '../gateway/events.ts'
import type {
  ConfigChanges,
  GatewayEvents,
  GatewayOptions,
  Inspection,
  RequestOptions,
} from '../api/gateway.ts'
import { makeGateway, type Gateway } from '../gateway/gateway.ts'
import { stateDirectoryOf } from '../gateway/open-state.ts'
import { changesOf } from '../gateway/reloader.ts'
import { ProcessTable } from '../processes/cleanup/own-processes.ts'
import { systemClock } from '../util/clock.ts'
import { createLog } from '../util/log.ts'
import { parseDuration } from '../util/units.ts'
import {
  checkWorkers,
  forOwner,
  forWorker,
  hasPipe,
  sectionsAmong,
  withThoseOf,
  type Sections,
  type Share,
} from './partition.ts'
import { ChosenPorts } from './chosen-ports.ts'
import { ClientPipe } from './client-pipe.ts'
import { forkWorker, markedFor, type Program } from './fork.ts'
import { findTaker, passOn } from './moves.ts'
import { merged, ownReply } from './proxy/gather.ts'
import { Owner } from './proxy/upstream-host.ts'
import { makeSocketDirectory, removeSocketDirectory } from './socket-directory.ts'
import { controlAll, type Verb } from './control.ts'
import { WorkerProcess, type Listening } from './worker-process.ts'
import type { Beginning } from './worker.ts'

/** Options of the primary of several workers. */
interface WorkersOptions extends GatewayOptions {
  readonly count: number
  readonly program: Program
  readonly load: () => Promise<LoadedConfig>
}

const LATE_PIPE = 'its processes were started without a client on stdin: restart it for a stdio listener'

/** Beside the grace: what a worker that stops may take for all else. */
const STOP_MS = 5000

/**
 * A gateway of several processes. This one, the primary, accepts nothing: it starts the workers, hands connections to them,
 * owns the upstreams that they share, and speaks for all of them.
 * @throws GatewayError GW_WORKERS, or what `createGateway` throws
 */
export async function createWorkers(source: LoadedConfig, options: WorkersOptions): Promise<Workers> {
  checkWorkers(source.config, options.count)
  const directory = await makeSocketDirectory()
  try {
    return await make(source, options, directory)
  } catch (error) {
    await removeSocketDirectory(directory)
    throw error
  }
}

async function make(source: LoadedConfig, options: WorkersOptions, directory: string): Promise<Workers> {
  const { count } = options
  const sections = sectionsAmong(directory)
  const heard: { gateway?: Gateway; gate?: Gate } = {}
  const key = randomBytes(32)
  const owner = new Owner(() => {
    if (heard.gateway === undefined) throw gatewayError('GW_STOPPING')
    return heard.gateway.generation.graph
  }, key)
  const gateway = await makeGateway(forOwner(source, count, sections), options, {
    builtins: builtins.filter(({ scope }) => scope === 'shared'),
    role: 'primary',
    shared: owner.shared,
    said: (name, notification, upstream, isMeant) => {
      if (upstream !== undefined) owner.said(name, notification, isMeant)
    },
    wrapGate: gate => (heard.gate = gate),
  })
  heard.gateway = gateway
  return new Workers(source, options, { gateway, gate: heard.gate, owner, directory, sections, key })
}

interface Parts {
  readonly gateway: Gateway
  readonly gate: Gate | undefined
  readonly owner: Owner
  /** Directory of the sockets between the workers. */
  readonly directory: string
  readonly sections: Sections
  /** Key of what the processes seal for each other. */
  readonly key: Uint8Array
}

/** The same face as a gateway of one process has. */
class Workers {
  readonly #options: WorkersOptions
  readonly #gateway: Gateway
  readonly #gate: Gate | undefined
  readonly #owner: Owner
  readonly #directory: string
  readonly #sections: Sections
  /** Directory for what outlives the gateway: that of its start, as in a gateway of one process. */
  readonly #state: string | undefined
  readonly #events: Events
  readonly #table: ProcessTable
  readonly #key: Uint8Array
  readonly #all: readonly WorkerProcess[]
  readonly #ports = new ChosenPorts()
  readonly #log
  /** Configuration that each worker began with, by its number. */
  readonly #begunWith = new Map<number, LoadedConfig>()
  /** Absent where no client is on stdin and stdout. */
  readonly #pipe: ClientPipe | undefined
  #source: LoadedConfig
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false
  #startedAt: number | undefined

  constructor(source: LoadedConfig, options: WorkersOptions, parts: Parts) {
    const { gateway, gate, owner, directory, sections, key } = parts
    this.#source = source
    this.#options = options
    this.#gateway = gateway
    this.#gate = gate
    this.#owner = owner
    this.#directory = directory
    this.#state = stateDirectoryOf(source, options.state)
    this.#sections = sections
    this.#key = key
    this.#pipe = hasPipe(source.config) ? new ClientPipe() : undefined
    const log = options.log ?? createLog({ level: 'warn', format: 'json', write: () => undefined })
    this.#log = log
    this.#events = new Events(log)
    this.#table = new ProcessTable(log, systemClock)
    this.#all = Array.from({ length: options.count }, (_, index) => this.#worker(index + 1))
    gateway.on('state', ({ upstream, ...state }) => {
      owner.changed(upstream)
      this.#events.emit('state', { upstream, ...state })
    })
    gateway.on('reloaded', () => owner.changed())
  }

  #worker(number: number): WorkerProcess {
    return new WorkerProcess(number, {
      log: this.#log,
      fork: () => this.#fork(number),
      begins: () => this.#beginning(number),
      listens: listening => this.#ports.check(number, this.#source.config, listening),
      serve: (what, value, handle) => this.#serve(number, what, value, handle),
      started: worker => this.#catchUp(worker),
    })
  }

  #fork(number: number): ReturnType<typeof forkWorker> {
    const { environment = {}, program } = this.#options
    const mark = this.#table.prepare(this.#source.directory, `worker-${number}`, environment)
    const pipe = this.#pipe
    const takesPipe = number === 1 && pipe?.isHere === true
    const use = pipe === undefined ? 'none' : takesPipe ? 'own' : 'others'
    const forked = forkWorker(program, markedFor(environment, mark), use)
    if (takesPipe) {
      pipe.given()
      void forked.ended.then(() => pipe.lose())
    }
    this.#owner.serve(forked.stream)
    this.#table.add(forked)
    void forked.ended.then(() => this.#table.delete(forked, undefined))
    void forked.ended.then(() => this.#ports.ended(number))
    return forked
  }

  #beginning(number: number): Beginning {
    const { count } = this.#options
    this.#begunWith.set(number, this.#source)
    return { number, count, directory: this.#directory, key: this.#key, ...this.#share(this.#source, number) }
  }

  #share(source: LoadedConfig, number: number): Share {
    const isOfPipe = number === 1 && this.#pipe?.isServed === true
    const own = { number, hasPipe: isOfPipe, sections: this.#sections, state: this.#state }
    return forWorker(this.#ports.fill(number, source), this.#options.count, own)
  }

  #ofOwner(source: LoadedConfig): LoadedConfig {
    return forOwner(source, this.#options.count, this.#sections)
  }

  /** One that began while the configuration was another is told of this one. */
  async #catchUp(worker: WorkerProcess): Promise<void> {
    if (this.#begunWith.get(worker.number) === this.#source) return
    await worker.reload(this.#share(this.#source, worker.number)).catch((error: unknown) =>
      this.#log.error('a worker runs with an older configuration', {
        worker: worker.number,
        reason: reasonOf(error),
      }),
    )
  }

  async #serve(number: number, what: string, value: unknown, handle?: object): Promise<unknown> {
    if (what === 'client gone') return this.#pipe?.end()
    if (what === 'move?') return findTaker(without(this.#all, number), value)
    if (what === 'move') return passOn(this.#all, value, handle)
    if (what === 'control') return this.#control(value as Verb)
    if (what !== 'gather') throw gatewayError('GW_VERB_UNKNOWN', { verb: what, known: 'gather' })
    const replies = new Map<string, TextReply>()
    if (this.#gate !== undefined) replies.set('0', await ownReply(this.#gate, value))
    await Promise.all(
      this.#all.map(async worker => {
        const reply = await worker.request('page', value).catch(() => undefined)
        if (reply !== undefined) replies.set(String(worker.number), reply as TextReply)
      }),
    )
    return merged(replies, value, this.#source.config)
  }

  /** Those of the first worker, which has all that there are. */
  get listeners(): readonly (Listening & { readonly ended?: Promise<void> })[] {
    const found = this.#all.find(({ listeners }) => listeners.length > 0)?.listeners ?? []
    const { ended } = this.#pipe ?? {}
    return found.map(one => (one.type === 'stdio' && ended !== undefined ? { ...one, ended } : one))
  }

  /** The processes that accept, as `ps` shows them. */
  get processes(): readonly WorkerProcess[] {
    return this.#all
  }

  /** The upstreams that all share, in this process. */
  get owned(): Gateway {
    return this.#gateway
  }

  get source(): LoadedConfig {
    return this.#source
  }

  get startedAt(): number | undefined {
    return this.#startedAt
  }

  /** Resolves when the client on the pipe has gone; never where there is another listener. */
  get ended(): Promise<void> {
    const isAll = Object.values(this.#source.config.listeners).every(({ type }) => type === 'stdio')
    return (isAll ? this.#pipe?.ended : undefined) ?? new Promise(() => undefined)
  }

  on<E extends keyof GatewayEvents>(event: E, listener: (event: GatewayEvents[E]) => void): () => void {
    return event === 'log' ? this.#gateway.on(event, listener) : this.#events.on(event, listener)
  }

  /** @throws GatewayError what the first worker that could not start said; nothing is left then. */
  async start(): Promise<void> {
    this.#startedAt = Date.now()
    try {
      await this.#gateway.start()
      await Promise.all(this.#all.map(worker => worker.start()))
      this.#ports.learn(this.#source.config, this.#all)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async settled(): Promise<void> {
    await this.#gateway.settled()
    await this.#all[0]?.request('settled').catch(() => undefined)
  }

  async inspect(): Promise<Inspection> {
    return (await this.control('inspect')) as unknown as Inspection
  }

  control(verb: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<JsonObject> {
    return controlAll(this, { verb, params }, options)
  }

  /** Runs what a plugin in a worker asks for. */
  #control({ verb, params }: Verb): Promise<JsonObject> {
    return controlAll(this, { verb, params }, {})
  }

  /**
   * All of them, or none: the shared servers first, so that what a worker may call is there; then each worker. Where one
   * refuses, those that have it go back.
   */
  reload(): Promise<ConfigChanges> {
    const done = this.#last.then(() => this.#reload())
    this.#last = done.catch(() => undefined)
    return done
  }

  async #reload(): Promise<ConfigChanges> {
    try {
      if (this.#isClosed) throw gatewayError('GW_STOPPING')
      const before = this.#source
      const source = await this.#options.load()
      checkWorkers(source.config, this.#options.count)
      if (this.#pipe === undefined && hasPipe(source.config))
        throw gatewayError('GW_WORKERS', { workers: this.#options.count, why: LATE_PIPE })
      await this.#replace(before, source)
      const changes = changesOf(before.config, source.config)
      this.#events.emit('reloaded', { source, changes })
      return changes
    } catch (thrown) {
      const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
      if (error.code !== 'GW_STOPPING') this.#events.emit('refused', { error })
      throw error
    }
  }

  async #replace(before: LoadedConfig, source: LoadedConfig): Promise<void> {
    const [next, old] = [this.#ofOwner(source), this.#ofOwner(before)]
    const meanwhile = withThoseOf(next, old)
    await this.#gateway.reload(meanwhile)
    this.#source = source
    const told = await this.#tell(source)
    const refused = told.find(result => result.status === 'rejected')
    if (refused !== undefined) {
      this.#source = before
      await this.#tell(before)
      await this.#gateway.reload(old)
      throw refused.reason
    }
    this.#ports.learn(source.config, this.#all)
    if (meanwhile !== next) await this.#gateway.reload(next)
  }

  #tell(source: LoadedConfig): Promise<PromiseSettledResult<void>[]> {
    return Promise.allSettled(this.#all.map(worker => worker.reload(this.#share(source, worker.number))))
  }

  /** Has those that accept say that they are not ready, and serve on for `shutdown.delay`. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#all.map(worker => worker.request('drain')))
  }

  /** The workers first, as what they do may need the shared servers; then those. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#last
    const graceMs = parseDuration(this.#source.config.shutdown.grace)
    await this.#gateway.close(() => Promise.all(this.#all.map(worker => worker.close(graceMs + STOP_MS))))
    this.#table.retire()
    await removeSocketDirectory(this.#directory)
  }
}

function without(workers: readonly WorkerProcess[], number: number): WorkerProcess[] {
  return workers.filter(worker => worker.number !== number)
}
