import { readdirSync } from 'node:fs'
import { isSame, membersOf, type ProcessId, startOf } from './proc-scan.ts'
import { readProcSync } from '../../util/process/proc-files.ts'

/** More than this are not recorded; their marks find them. */
const MAX_RECORDED = 1024
/** Looks at a tree that is being ended: what is killed may have started something in the last moment. */
const ROUNDS = 50

/** A process and all that it started: its descendants, all of its session, and what was seen as one of these before. Linux only. */
export class ProcessTree {
  readonly #root: number
  #known: readonly ProcessId[]

  constructor(root: number) {
    this.#root = root
    const start = startOf(root)
    this.#known = start === undefined ? [] : [{ pid: root, start }]
  }

  /** All that live at this moment. */
  look(): readonly ProcessId[] {
    const found = new Map<number, ProcessId>()
    for (const known of this.#known) if (isSame(known)) found.set(known.pid, known)
    for (const member of membersOf(this.#root)) found.set(member.pid, member)
    for (const one of descendantsOf(...found.keys())) found.set(one.pid, one)
    this.#known = [...found.values()]
    return this.#known
  }

  /** Ends all at once, and again until none is left: what has stopped for good cannot start another. */
  kill(): void {
    for (let round = 0; round < ROUNDS; round++) {
      const alive = this.look()
      if (alive.length === 0) return
      for (const one of alive) kill(one)
    }
  }
}

/** Processes and threads, as the kernel counts them. */
export function tasksOf(processes: readonly ProcessId[]): number {
  return processes.reduce((sum, { pid }) => sum + threadsOf(pid), 0)
}

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

function kill(one: ProcessId): void {
  try {
    if (isSame(one)) process.kill(one.pid, 'SIGKILL')
  } catch {
    // The process has ended by itself.
  }
}

/** Lists what processes have started, and what that has, as far as the chain is whole at this moment. Empty where there is no /proc. */
export function descendantsOf(...pids: readonly number[]): ProcessId[] {
  const found: ProcessId[] = []
  const seen = new Set(pids)
  const queue = [...pids]
  for (let at = 0; at < queue.length && found.length < MAX_RECORDED; at++) {
    for (const child of childrenOf(queue[at] ?? 0)) {
      const start = seen.has(child) ? undefined : startOf(child)
      if (start === undefined) continue
      seen.add(child)
      queue.push(child)
      found.push({ pid: child, start })
    }
  }
  return found
}

/** Children belong to the thread that started them (proc(5)). */
function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
      readProcSync(`/proc/${pid}/task/${thread}/children`).trim().split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}
