import type { Writable } from 'node:stream'
import type { Log } from '../../api/index.ts'
import { reasonOf } from '../../errors/errors.ts'
import { WATCHDOG_SCRIPT } from './watchdog-script.ts'
import { MARK_VARIABLE } from '../environment.ts'
import { startOf } from './proc-scan.ts'
import { spawnWatcher } from '../spawn.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where a system has its tools, for a gateway that was told no PATH. */
const TOOLS = '/usr/bin:/bin:/usr/sbin:/sbin'
/** A watchdog that keeps dying is not replaced for ever. */
const MAX_STARTS = 5

/**
 * A small shell that outlives the gateway by a moment: it reads a pipe that only the gateway holds, and when that ends
 * without a farewell it ends every process of this run. It has a session of its own, so that nothing sent to the
 * gateway's group or terminal reaches it. About 1.6 MB, against 43 MB for a second Node.
 */
export class Watchdog {
  readonly #run: string
  readonly #log: Log
  readonly #watched = new Map<number, string>()
  #pipe: Writable | undefined
  #starts = 0

  /** `run` is what the marks of this run begin with. */
  constructor(run: string, log: Log) {
    this.#run = run
    this.#log = log
  }

  /** Before the first process is there to be watched. `environment` is the gateway's own. */
  start(environment: Environment): void {
    if (this.#pipe !== undefined || this.#starts >= MAX_STARTS || process.platform === 'win32') return
    this.#starts++
    try {
      this.#open(environment)
    } catch (error) {
      this.#gone(reasonOf(error))
    }
    for (const [pid, start] of this.#watched) this.#say(`+ ${pid} ${start}`)
  }

  watch(pid: number): void {
    const start = startOf(pid) ?? '0'
    this.#watched.set(pid, start)
    this.#say(`+ ${pid} ${start}`)
  }

  forget(pid: number): void {
    const start = this.#watched.get(pid)
    if (!this.#watched.delete(pid)) return
    this.#say(`- ${pid} ${start}`)
  }

  /** All is well: it goes without another look. */
  dismiss(): void {
    const pipe = this.#pipe
    this.#pipe = undefined
    this.#starts = 0
    pipe?.end('.\n')
  }

  #open(environment: Environment): void {
    const args = ['-c', WATCHDOG_SCRIPT, 'tapgate-watchdog', this.#run]
    const env = watchdogEnvironment(environment)
    const { watcher, pipe } = spawnWatcher({ command: '/bin/sh', args, cwd: '/', env })
    this.#pipe = pipe
    pipe.on('error', () => undefined)
    watcher.on('error', error => this.#gone(reasonOf(error)))
    watcher.once('exit', () => {
      if (this.#pipe !== pipe) return
      this.#gone('it was ended')
      if (this.#watched.size > 0) this.start(environment)
    })
  }

  #gone(why: string): void {
    this.#pipe = undefined
    this.#log.warn('the watchdog of the server processes is gone', { why })
  }

  #say(line: string): void {
    this.#pipe?.write(`${line}\n`)
  }
}

/** It carries the marks that the gateway carries, so that one around us may end it, and not ours, as it must not end itself. */
function watchdogEnvironment({ PATH, [MARK_VARIABLE]: outer }: Environment): Record<string, string> {
  const path = { PATH: PATH === undefined ? TOOLS : `${PATH}:${TOOLS}` }
  return outer === undefined ? path : { ...path, [MARK_VARIABLE]: outer }
}
