import { createHash, randomBytes } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import type { Writable } from 'node:stream'
import type { Log } from '../api/index.ts'
import { getErrorMessage } from '../errors/errors.ts'
import { getPlatform } from '../util/platform.ts'
import { MARK_VARIABLE } from './environment.ts'
import { spawnWatcher } from './launch.ts'
import { killMarked, isSameProcess, readStartTime } from './proc-scan.ts'

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

type GatewayEnvironment = Readonly<Record<string, string | undefined>>

/** Directories in which a system has its tools, for a gateway without PATH. */
const TOOLS = '/usr/bin:/bin:/usr/sbin:/sbin'
/** A watchdog that keeps dying is not replaced for ever. */
const MAX_STARTS = 5

/**
 * A small shell that outlives the gateway by a moment: it reads a pipe that only the gateway holds, and when that ends
 * without a farewell it ends every process of this run. It has a session of its own, so that nothing sent to the
 * gateway's group or terminal reaches it. About 1.6 MB, against 43 MB for a second Node.
 */
class Watchdog {
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
  start(environment: GatewayEnvironment): void {
    if (this.#pipe !== undefined || this.#starts >= MAX_STARTS || !getPlatform().hasGroups) return
    this.#starts++
    try {
      this.#open(environment)
    } catch (error) {
      this.#handleLost(getErrorMessage(error))
    }
    for (const [pid, start] of this.#watched) this.#send(`+ ${pid} ${start}`)
  }

  watch(pid: number): void {
    const start = readStartTime(pid) ?? '0'
    this.#watched.set(pid, start)
    this.#send(`+ ${pid} ${start}`)
  }

  forget(pid: number): void {
    const start = this.#watched.get(pid)
    if (!this.#watched.delete(pid)) return
    this.#send(`- ${pid} ${start}`)
  }

  /** All is well: it goes without another look. */
  dismiss(): void {
    const pipe = this.#pipe
    this.#pipe = undefined
    this.#starts = 0
    pipe?.end('.\n')
  }

  #open(environment: GatewayEnvironment): void {
    const args = ['-c', WATCHDOG_SCRIPT, 'tapgate-watchdog', this.#run]
    const env = watchdogEnvironment(environment)
    const { watcher, pipe } = spawnWatcher({ command: '/bin/sh', args, cwd: '/', env })
    this.#pipe = pipe
    pipe.on('error', () => undefined)
    watcher.on('error', error => this.#handleLost(getErrorMessage(error)))
    watcher.once('exit', () => {
      if (this.#pipe !== pipe) return
      this.#handleLost('it was ended')
      if (this.#watched.size > 0) this.start(environment)
    })
  }

  #handleLost(why: string): void {
    this.#pipe = undefined
    this.#log.warn('the watchdog of the server processes is gone', { why })
  }

  #send(line: string): void {
    this.#pipe?.write(`${line}\n`)
  }
}

/**
 * Environment with the marks that the gateway carries, so that a gateway around us may end the watchdog, and without ours,
 * as the watchdog must not end itself.
 */
function watchdogEnvironment({ PATH, [MARK_VARIABLE]: outer }: GatewayEnvironment): Record<string, string> {
  const path = { PATH: PATH === undefined ? TOOLS : `${PATH}:${TOOLS}` }
  return outer === undefined ? path : { ...path, [MARK_VARIABLE]: outer }
}

/** Process that can be ended on the spot. */
interface Killable {
  readonly pid: number | undefined
  kill(): void
}

/** Last handlers of all gateways in this process: Node suspects a leak where each has a listener for `exit` of its own. */
const exitHandlers = new Set<() => void>()

function runExitHandlers(): void {
  for (const handler of exitHandlers) handler()
}

function addExitHandler(handler: () => void): void {
  if (exitHandlers.size === 0) process.on('exit', runExitHandlers)
  exitHandlers.add(handler)
}

function removeExitHandler(handler: () => void): void {
  if (exitHandlers.delete(handler) && exitHandlers.size === 0) process.off('exit', runExitHandlers)
}

/** The processes of one gateway, so that none outlives it, however it ends. */
export class ProcessTable {
  /** Generations that use it; the last one retires it. */
  owners = 0
  readonly #running = new Set<Killable>()
  /** Beginning of the marks of this table, and of no others. */
  readonly #run = `tapgate:${process.pid}:${readStartTime(process.pid) ?? '0'}:${randomBytes(16).toString('hex')}:`
  #marked = 0
  readonly #watchdog: Watchdog
  readonly #log: Log
  readonly #killAll = (): void => {
    for (const running of this.#running) running.kill()
  }
  #isRetired = false
  /** True once anything was started that may have left its group. */
  #isUsed = false

  constructor(log: Log) {
    this.#log = log
    this.#watchdog = new Watchdog(this.#run, log)
  }

  /** Makes ready for one more process; returns its mark. `environment` is the gateway's own. */
  prepare(
    directory: string,
    upstream: string,
    environment: Readonly<Record<string, string | undefined>>,
  ): string {
    this.#isUsed = true
    this.#watchdog.start(environment)
    return `${this.#run}${hashDirectory(directory)}:${++this.#marked}:${upstream}`
  }

  add(killable: Killable): void {
    // The last resort: it runs without an event loop, while the gateway exits.
    if (this.#running.size === 0) addExitHandler(this.#killAll)
    this.#running.add(killable)
    if (killable.pid !== undefined) this.#watchdog.watch(killable.pid)
  }

  /** Its group has ended: forgets it. After the last one of a gateway that stops, what left the groups is ended. */
  async delete(killable: Killable): Promise<void> {
    if (killable.pid !== undefined) this.#watchdog.forget(killable.pid)
    if (this.#running.delete(killable) && this.#running.size === 0) removeExitHandler(this.#killAll)
    await this.#check()
  }

  /** No more will come: the watchdog may go whenever nothing runs. */
  async retire(): Promise<void> {
    this.#isRetired = true
    await this.#check()
  }

  /** Ends what gateways that died have left behind in these directories. */
  async endOrphans(directories: ReadonlySet<string>): Promise<void> {
    const places = new Set([...directories].map(hashDirectory))
    const upstreams = new Set<string>()
    const ended = await killMarked(text => {
      const mark = parseMark(text)
      if (mark === undefined || !places.has(mark.place) || isSameProcess(mark.owner)) return false
      upstreams.add(mark.upstream)
      return true
    })
    if (ended.length > 0)
      this.#log.warn('ended what a gateway that died had left behind', {
        upstreams: [...upstreams],
        pids: ended,
      })
  }

  async #check(): Promise<void> {
    if (!this.#isRetired || this.#running.size > 0) return
    if (this.#isUsed) {
      this.#isUsed = false
      // Nothing that is older than this gateway is from it.
      const since = Number(readStartTime(process.pid) ?? 0)
      const ended = await killMarked(mark => this.#running.size === 0 && mark.startsWith(this.#run), since)
      if (ended.length > 0) this.#log.info('ended processes that left their group', { pids: ended })
    }
    if (this.#running.size === 0) this.#watchdog.dismiss()
  }
}

/** Says to which gateway a process belongs. */
interface ProcessMark {
  readonly place: string
  /** The gateway that started it. */
  readonly owner: { readonly pid: number; readonly start: string }
  readonly upstream: string
}

const MARK_PATTERN = /^tapgate:(\d+):(\d+):[0-9a-f]{32}:([0-9a-f]{12}):\d+:([a-z0-9-]{1,64})$/

/** Reads a mark; undefined for what is none. */
function parseMark(text: string): ProcessMark | undefined {
  const [, pid, start, place, upstream] = MARK_PATTERN.exec(text) ?? []
  if (pid === undefined || start === undefined || place === undefined || upstream === undefined)
    return undefined
  return { place, owner: { pid: Number(pid), start }, upstream }
}

/** Names a directory of this user, where process ids mean the same. A container's processes have another place. */
function hashDirectory(directory: string): string {
  const who = `${process.getuid?.() ?? ''}\0${readPidNamespace()}\0${directory}`
  return createHash('sha256').update(who).digest('hex').slice(0, 12)
}

function readPidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
