import type { Writable } from 'node:stream'
import type { Log } from '../../api/index.ts'
import { reasonOf } from '../../errors/errors.ts'
import { MARK_VARIABLE } from '../environment.ts'
import { startOf } from './proc-scan.ts'
import { spawnWatcher } from '../launch.ts'
import { platformOf } from '../../util/platform.ts'

/**
 * Script of the watchdog, for any POSIX shell. `$1` is what the marks of this run begin with. It reads `+ pid start`,
 * `- pid start` and `.`; at the end of its input without a `.` the gateway is dead. Servers have then lost their stdin
 * and get a moment, SIGTERM and another moment; then SIGKILL goes out until two looks in a row have found nothing.
 * A group is left alone when its number has a new leader.
 */
export const WATCHDOG_SCRIPT = `
trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU
mark=$1
groups=
while read -r sign pid start; do
  case $sign in
    +) groups="$groups $pid:$start" ;;
    -)
      kept=
      for group in $groups; do [ "$group" = "$pid:$start" ] || kept="$kept $group"; done
      groups=$kept
      ;;
    .) exit 0 ;;
  esac
done

started() {
  [ -r "/proc/$1/stat" ] || return 1
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  set -- \${stat##*) }
  shift 19 2>/dev/null || return 1
  now=$1
}

strike() {
  found=
  for group in $groups; do
    pid=\${group%:*}
    if started "$pid" && [ "$now" != "\${group#*:}" ]; then continue; fi
    kill -s "$1" -- "-$pid" 2>/dev/null && found=1
  done
  [ -e /proc/self/environ ] || return 0
  for file in $(grep -lszF -- "$mark" /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}
    kill -s "$1" "\${pid%/environ}" 2>/dev/null && found=1
  done
}

rest() { sleep "$1" 2>/dev/null || sleep 1; }

rest 0.2
strike TERM
[ -z "$found" ] || rest 0.4
quiet=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
  strike KILL
  if [ -z "$found" ]; then quiet=$((quiet + 1)); else quiet=0; fi
  [ "$quiet" -lt 2 ] || exit 0
  rest 0.05
done
`

type Environment = Readonly<Record<string, string | undefined>>

/** Directories in which a system has its tools, for a gateway without PATH. */
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
    if (this.#pipe !== undefined || this.#starts >= MAX_STARTS || !platformOf().hasGroups) return
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

/**
 * Environment with the marks that the gateway carries, so that a gateway around us may end the watchdog, and without ours,
 * as the watchdog must not end itself.
 */
function watchdogEnvironment({ PATH, [MARK_VARIABLE]: outer }: Environment): Record<string, string> {
  const path = { PATH: PATH === undefined ? TOOLS : `${PATH}:${TOOLS}` }
  return outer === undefined ? path : { ...path, [MARK_VARIABLE]: outer }
}
