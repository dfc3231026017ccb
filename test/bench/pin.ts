import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Gives what is measured a core of its own, and everything else the other: `taskset`, on Linux. */
export class Pins {
  readonly #isOn: boolean

  constructor(isWanted: boolean) {
    this.#isOn = isWanted && availableParallelism() > 1 && hasTaskset()
  }

  get isOn(): boolean {
    return this.#isOn
  }

  /** Puts a subject on its core, and the servers it has started beside the client. */
  subject(pid: number | undefined): void {
    if (!this.#isOn || pid === undefined) return
    put(pid, 1)
    for (const child of childrenOf(pid)) put(child, 0)
  }

  /** Puts a client or server on theirs. */
  other(pid: number | undefined): void {
    if (this.#isOn && pid !== undefined) put(pid, 0)
  }
}

function put(pid: number, core: number): void {
  execFileSync('taskset', ['-a', '-c', '-p', String(core), String(pid)], { stdio: 'ignore' })
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['-c', '-p', String(process.pid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
