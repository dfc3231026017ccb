import type { Config, ProcessPermit, ProcessLimiter, QueuedProcess, EvictableProcesses } from '../api/index.ts'

/** Queue limit. */
const MAX_WAITING = 1024

interface QueuedStart {
  readonly admit: (permit: ProcessPermit) => void
  readonly refuse: (error: Error) => void
}

/** Limits concurrent starts and running processes of one gateway. */
export class ProcessQuota implements ProcessLimiter {
  readonly #yielding = new Set<EvictableProcesses>()
  #waiting: QueuedStart[] = []
  #max: number
  #maxStarting: number
  #running = 0
  #starting = 0
  /** Processes that are stopping, and idle ones asked to stop. */
  #leaving = 0
  #evicting = 0

  constructor(max: number, starting: number) {
    this.#max = max
    this.#maxStarting = starting
  }

  static fromConfig({ processes: { max, starting } }: Config): ProcessQuota {
    return new ProcessQuota(max, starting)
  }

  /** Changes the limits for future starts. */
  resize(max: number, starting: number): void {
    this.#max = max
    this.#maxStarting = starting
    this.#admit()
  }

  registerEvictable(from: EvictableProcesses): () => void {
    this.#yielding.add(from)
    return () => void this.#yielding.delete(from)
  }

  requestPermit(): QueuedProcess {
    let waiting: QueuedStart | undefined
    const permit = new Promise<ProcessPermit>((admit, refuse) => {
      waiting = { admit, refuse }
      const reason = this.#explainFull()
      if (reason !== undefined) return refuse(new Error(reason))
      this.#waiting.push(waiting)
      this.#admit()
    })
    return { permit, cancel: () => this.#cancelStart(waiting) }
  }

  #explainFull(): string | undefined {
    if (this.#waiting.length >= MAX_WAITING) return `start queue is full (${MAX_WAITING})`
    const isFull = this.#running + this.#waiting.length - this.#leaving - this.#evicting >= this.#max
    return isFull && !this.#evictIdle() ? `process limit reached: ${this.#max} ("processes.max")` : undefined
  }

  #cancelStart(cancelled: QueuedStart | undefined): void {
    if (cancelled === undefined || !this.#waiting.includes(cancelled)) return
    this.#waiting = this.#waiting.filter(waiting => waiting !== cancelled)
    cancelled.refuse(new Error('start cancelled'))
  }

  #admit(): void {
    while (this.#running < this.#max && this.#starting < this.#maxStarting) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      next.admit(this.#permit())
    }
  }

  #permit(): ProcessPermit {
    this.#running++
    this.#starting++
    const once = (act: () => void): (() => void) => {
      let isDone = false
      return () => {
        if (isDone) return
        isDone = true
        act()
        this.#admit()
      }
    }
    const started = once(() => this.#starting--)
    const leaving = once(() => {
      this.#leaving++
      if (this.#evicting > 0) this.#evicting--
    })
    const stopped = once(() => {
      this.#running--
      this.#leaving--
    })
    return {
      markStarted: started,
      markStopping: leaving,
      markStopped: () => {
        started()
        leaving()
        stopped()
      },
    }
  }

  /** Stops the process that has been idle longest. */
  #evictIdle(): boolean {
    const idle = [...this.#yielding].filter(({ idleSince }) => idleSince !== undefined)
    const [oldest] = idle.sort((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0))
    if (oldest === undefined) return false
    this.#evicting++
    oldest.evict()
    return true
  }
}
