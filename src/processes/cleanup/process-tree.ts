import { readdirSync } from 'node:fs'
import { descendantsOf } from './descendants.ts'
import { isSame, membersOf, startOf, type ProcessId } from './proc-scan.ts'

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
    // It has ended by itself.
  }
}
