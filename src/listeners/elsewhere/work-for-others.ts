import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Answer, AskedWork, Clock, Gate, Log, Running, Sought } from '../../api/index.ts'
import { actorKey } from '../../api/principal.ts'
import { reasonOf } from '../../errors/errors.ts'
import { placeOfWork } from '../../protocol/placed-ids.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { within } from '../../util/clock.ts'
import { LISTEN, thrownAnswer } from '../client/encode-answer.ts'
import { HANDED } from '../http/hand-on/handed-headers.ts'
import { Visit } from './visit.ts'
import { readWork, type Work } from './wire.ts'

/** Requests of others that run at a time, and of one caller. */
const MOST_OPEN = 8192
const MOST_EACH = 1024
/** Time for the last answers to leave. */
const LAST_WORDS_MS = 1000

interface Open {
  readonly visit: Visit
  readonly caller: string
  running: Running | undefined
}

/** Facts of this process for the requests of others. */
export interface Surroundings {
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Log
}

/** Runs requests that other processes of the gateway have taken, and that go on with what is kept here: as any request, and nowhere else. */
export class WorkForOthers {
  readonly #around: Surroundings
  readonly #find: Required<Sought>['work']
  readonly #open = new Map<string, Open>()
  /** Number of each caller. */
  readonly #each = new Map<string, number>()
  readonly #own = randomUUID()
  #last = 0
  #onNone: () => void = () => undefined

  /** `find` says whether something is kept here. */
  constructor(around: Surroundings, find: Required<Sought>['work']) {
    this.#around = around
    this.#find = find
  }

  serve({ body, from }: AskedWork, response: ServerResponse): void {
    let work: ReturnType<typeof readWork>
    try {
      work = readWork(body)
    } catch (thrown) {
      this.#around.log.warn('cannot read what another process asks', { from, why: reasonOf(thrown) })
    }
    if (work === undefined) return refuse(response, 400)
    if ('of' in work) {
      this.#open.get(nameOf(from, work.of))?.visit.replied(work.ask, work.reply)
      return refuse(response, 204)
    }
    const place = placeOfWork(work.request.params)
    if (place === undefined || this.#find(place) !== 'here') return refuse(response, 421)
    void this.#run(work, nameOf(from, work.id), response)
  }

  /** Ends what listens, and lets the rest finish within the time. */
  async stop(graceMs: number): Promise<void> {
    for (const { visit, running } of this.#open.values())
      if (visit.method === LISTEN) running?.cancel('shutdown')
    if (await this.#areOver(graceMs)) return
    for (const { running } of this.#open.values()) running?.cancel('shutdown')
    await this.#areOver(LAST_WORDS_MS)
  }

  #areOver(ms: number): Promise<boolean> {
    if (this.#open.size === 0) return Promise.resolve(true)
    return within(this.#around.clock, ms, new Promise<void>(resolve => (this.#onNone = resolve)))
  }

  async #run(work: Work, name: string, response: ServerResponse): Promise<void> {
    const visit = new Visit(work, response, this.#around.clock)
    const open: Open = { visit, caller: actorKey(work.session.principal), running: undefined }
    const refused = this.#refusal(work, open.caller, name)
    if (refused !== undefined) return visit.finish(refused)
    this.#open.set(name, open)
    this.#count(open.caller, 1)
    let isGone = false
    response.on('close', () => {
      isGone = !response.writableFinished
      if (isGone) open.running?.cancel('the client closed the connection')
      visit.end()
    })
    visit.finish(await this.#answer(work, open, () => isGone))
    this.#open.delete(name)
    this.#count(open.caller, -1)
    if (this.#open.size === 0) this.#onNone()
  }

  #count(caller: string, more: 1 | -1): void {
    const count = (this.#each.get(caller) ?? 0) + more
    if (count === 0) this.#each.delete(caller)
    else this.#each.set(caller, count)
  }

  #refusal({ id, session }: Work, caller: string, name: string): Answer | undefined {
    const admitted = this.#around.gate.admit(session.listener)
    if (admitted !== undefined && admitted !== 'close') return { error: admitted.error }
    if (this.#open.has(name)) return { error: rpcError(RPC.internal, `${id} runs already`) }
    if ((this.#each.get(caller) ?? 0) < MOST_EACH && this.#open.size < MOST_OPEN) return undefined
    return { error: rpcError(RPC.internal, 'Too many requests at a time wait for this process') }
  }

  async #answer({ session: facts }: Work, open: Open, isGone: () => boolean): Promise<Answer> {
    const { gate, log } = this.#around
    try {
      const session = await gate.openSession({
        ...facts,
        id: `elsewhere-${this.#own}-${++this.#last}`,
        notify: nobodyListens,
      })
      try {
        open.running = gate.run(session, open.visit)
        if (isGone()) open.running.cancel('the client closed the connection')
        return await open.running.answer
      } finally {
        gate.closeSession(session, isGone() ? 'disconnected' : 'answered')
      }
    } catch (thrown) {
      return { error: thrownAnswer(thrown, log).error }
    }
  }
}

/** Ids are those of the process that gives them. */
function nameOf(from: string, id: string): string {
  return `${from} ${id}`
}

/** What is nowhere here was handed on once, and goes no further. */
function refuse(response: ServerResponse, status: 204 | 400 | 421): void {
  if (response.destroyed) return
  response.writeHead(status, status === 421 ? { [HANDED]: 'no' } : {})
  response.end()
}

// What belongs to no request goes to the conversation itself, where that is.
function nobodyListens(): boolean {
  return false
}
