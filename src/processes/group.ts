import type { ChildProcess } from 'node:child_process'
import { startOf } from './cleanup/proc-scan.ts'

/** A process of ours and all that share its group. On Windows, where groups do not exist, the process alone. */
export class ProcessGroup {
  readonly #child: ChildProcess
  readonly #start: string | undefined

  constructor(child: ChildProcess) {
    this.#child = child
    this.#start = child.pid === undefined ? undefined : startOf(child.pid)
  }

  signal(signal: NodeJS.Signals): void {
    if (process.platform === 'win32') this.#child.kill(signal)
    else this.#send(signal)
  }

  /** Whether anything of the group still runs. */
  get isAlive(): boolean {
    return process.platform !== 'win32' && this.#send(0)
  }

  #send(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child
    if (pid === undefined || !this.#isOurs(pid)) return false
    try {
      return process.kill(-pid, signal)
    } catch (error) {
      // EPERM: something is there, and is not ours to signal.
      return (error as NodeJS.ErrnoException).code === 'EPERM'
    }
  }

  /** The number of a group is not given away while anybody is in it; a new leader means that nobody of ours is. */
  #isOurs(pid: number): boolean {
    const start = startOf(pid)
    return start === undefined || start === this.#start
  }
}
