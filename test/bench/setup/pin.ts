import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Gives what is measured a core of its own, and everything else the other: `taskset`, on Linux. */
export class Pins {
  readonly #isOn: boolean
  /** The place where each process stands, as moving it costs milliseconds. */
  readonly #cores = new Map<number, number>()

  constructor() {
    this.#isOn = availableParallelism() > 1 && hasTaskset()
  }

  get isOn(): boolean {
    return this.#isOn
  }

  /** Puts a subject on its core, and the servers it has started beside the client. */
  subject(pid: number | undefined): void {
    if (!this.#isOn || pid === undefined) return
    this.#put(pid, 1)
    for (const descendant of descendantsOf(pid)) this.#put(descendant, 0)
  }

  /** Puts a client or server on theirs. */
  other(pid: number | undefined): void {
    if (this.#isOn && pid !== undefined) this.#put(pid, 0)
  }

  #put(pid: number, core: number): void {
    if (this.#cores.get(pid) !== core) put(pid, core)
    this.#cores.set(pid, core)
  }
}

function put(pid: number, core: number): void {
  try {
    execFileSync('taskset', ['-a', '-c', '-p', String(core), String(pid)], { stdio: 'ignore' })
  } catch {
    // The process has just ended.
  }
}

/** Some start their servers through a shell. */
function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap(child => [child, ...descendantsOf(child)])
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return text === '' ? [] : text.split(' ').map(Number)
  } catch {
    return []
  }
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['-c', '-p', String(process.pid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
