/**
 * Shows the life of server processes: resting and waking under load, replicas killed under load, the budget of a server
 * that crashes, and the bounds on all processes together. Prints its figures; exits with 1 when one is out of bounds.
 *
 *   npm run proof -- lifecycle        about 70 s
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestContext } from 'node:test'
import { createGateway } from '../../src/index.ts'
import type { Upstream } from '../../src/api/index.ts'
import { bench, clock, isAlive, stdioSpec, textOf, toolCall } from '../unit/fixtures/upstream-bench.ts'
import { cleanup } from '../fixtures/cleanup.ts'
import { until } from '../fixtures/until.ts'

const SERVER = fileURLToPath(new URL('lifecycle/lifecycle-server.mjs', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'proof-lifecycle-'))
const cleanups: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
const context = {
  after: (cleanup: () => unknown) => void cleanups.unshift(cleanup),
} as unknown as TestContext

interface Note {
  readonly what: string
  readonly pid: number
  readonly at: number
  readonly detail: string
}

function notesIn(file: string): Note[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return lines.map(line => {
    const [what = '', pid, at, detail = ''] = line.split(' ')
    return { what, pid: Number(pid), at: Number(at), detail }
  })
}

let isFine = true

function say(what: string, figure: string | number, isSo = true): void {
  isFine &&= isSo
  console.log(`${isSo ? 'ok  ' : 'FAIL'} ${what}: ${figure}`)
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** Calls until told to stop, and says what came of each call, by its mark. */
async function load(
  upstream: Upstream,
  workers: number,
  pauseMs: () => number,
  until: () => boolean,
): Promise<Map<string, string[]>> {
  const outcomes = new Map<string, string[]>()
  let last = 0
  const work = async (): Promise<void> => {
    while (!until()) {
      const mark = `m${++last}`
      const outcome: string[] = []
      outcomes.set(mark, outcome)
      await upstream.dispatch(toolCall('mark', { mark })).then(
        answer => outcome.push(textOf(answer) === mark ? 'answered' : 'foreign'),
        () => outcome.push('failed'),
      )
      await pause(pauseMs())
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return outcomes
}

function count(outcomes: ReadonlyMap<string, readonly string[]>, wanted: string): number {
  return [...outcomes.values()].filter(([outcome]) => outcome === wanted).length
}

async function restsUnderLoad(): Promise<void> {
  const file = path.join(folder, 'idle')
  const { upstream, states } = await bench(
    context,
    stdioSpec([SERVER, file], { idle: '20ms', era: 'legacy' }),
  )
  const end = performance.now() + 10_000
  const outcomes = await load(
    upstream,
    2,
    () => Math.random() ** 4 * 200,
    () => performance.now() > end,
  )
  const rests = states.filter(state => state === 'idle').length
  const executed = notesIn(file).filter(({ what }) => what === 'executed').length
  await upstream.stop()
  const left = notesIn(file).filter(({ what, pid }) => what === 'spawned' && isAlive(pid)).length
  say('resting: calls', outcomes.size)
  say('resting: times it rested and was woken', rests, rests >= 10)
  say(
    'resting: calls that failed',
    outcomes.size - count(outcomes, 'answered'),
    count(outcomes, 'answered') === outcomes.size,
  )
  say('resting: calls carried out', executed, executed === outcomes.size)
  say('resting: processes left', left, left === 0)
}

/** Any replica, while another one is up: then there is no excuse for a call that is not under way on it to fail. */
function victimAmong({ runtime }: Upstream): number | undefined {
  const all = (runtime?.instances ?? []).flatMap(({ pid }) => pid ?? [])
  return all.length < 2 ? undefined : all[Math.floor(Math.random() * all.length)]
}

/** Time runs faster here, so that a minute in good health takes no minute. */
async function replicasKilled(): Promise<void> {
  const file = path.join(folder, 'replicas')
  const spec = stdioSpec([SERVER, file], { replicas: 4, era: 'legacy', startupTimeout: '1h' })
  const faster = {
    now: () => clock.now() * 200,
    after: (ms: number, callback: () => void) => clock.after(ms / 200, callback),
  }
  const { upstream } = await bench(context, spec, { clock: faster })
  await upstream.start()
  let kills = 0
  const calling = load(
    upstream,
    16,
    () => 0,
    () => kills >= 200,
  )
  while (kills < 200) {
    await pause(90)
    const victim = victimAmong(upstream)
    if (victim === undefined) continue
    process.kill(victim, 'SIGKILL')
    kills++
  }
  const outcomes = await calling
  const times = new Map<string, number>()
  for (const { what, detail } of notesIn(file))
    if (what === 'executed') times.set(detail, (times.get(detail) ?? 0) + 1)
  await until(() => upstream.runtime?.instances.length === 4, 'all four are back', 30_000)
  const restarts = upstream.runtime?.restarts ?? 0
  await upstream.stop()
  const left = notesIn(file).filter(({ what, pid }) => what === 'spawned' && isAlive(pid)).length
  const twice = [...times.values()].filter(number => number > 1).length
  const others = [...outcomes.values()].filter(
    outcome => outcome.length !== 1 || outcome[0] === 'foreign',
  ).length
  say('replicas: kills', kills)
  say('replicas: calls', outcomes.size)
  say('replicas: calls answered', count(outcomes, 'answered'))
  say(
    'replicas: calls that failed, at most those under way on what was killed',
    count(outcomes, 'failed'),
    count(outcomes, 'failed') <= 200 * 16,
  )
  say('replicas: calls that did not end exactly once, or with a foreign answer', others, others === 0)
  say('replicas: calls carried out twice', twice, twice === 0)
  say('replicas: restarts', restarts, restarts >= 200 - 4)
  say('replicas: processes left', left, left === 0)
}

function most(times: readonly number[], ms: number): number {
  return Math.max(...times.map(start => times.filter(at => at >= start && at - start <= ms).length))
}

/** In real time for a minute, and sixty times as fast for an hour. */
async function crashes(): Promise<void> {
  for (const [name, factor] of [
    ['real', 1],
    ['fast', 60],
  ] as const) {
    const file = path.join(folder, `crash-${name}`)
    const faster = {
      now: () => clock.now() * factor,
      after: (ms: number, callback: () => void) => clock.after(ms / factor, callback),
    }
    const { upstream } = await bench(context, stdioSpec([SERVER, file, 'crash'], { startupTimeout: '1h' }), {
      clock: faster,
    })
    void upstream.start()
  }
  await pause(61_000)
  const real = notesIn(path.join(folder, 'crash-real')).map(({ at }) => at)
  const fast = notesIn(path.join(folder, 'crash-fast')).map(({ at }) => at * 60)
  const pauses = fast.slice(10).map((at, index) => Math.round((at - (fast[index + 9] ?? 0)) / 1000))
  say('crashing, real minute: starts in all', real.length)
  say('crashing, real minute: most in 10 s', most(real, 10_000), most(real, 10_000) <= 6)
  say('crashing, real minute: most in 60 s', most(real, 60_000), most(real, 60_000) <= 10)
  say('crashing, fast hour: starts in all', fast.length, fast.length <= 10 + 24)
  say('crashing, fast hour: most in 60 s', most(fast, 60_000), most(fast, 60_000) <= 10)
  say(
    'crashing, fast hour: seconds between tries after ten',
    pauses.join(' '),
    pauses.filter(seconds => seconds >= 299).length >= 8,
  )
}

async function bounded(): Promise<void> {
  const file = path.join(folder, 'room')
  const names = Array.from({ length: 24 }, (_, index) => `s${index}`)
  const upstreams = Object.fromEntries(
    names.map(name => [
      name,
      { type: 'stdio', command: process.execPath, args: [SERVER, file], era: 'legacy', idle: '10m' },
    ]),
  )
  const gateway = await createGateway({ processes: { max: 16, starting: 4 }, upstreams })
  cleanup(context, () => gateway.close())
  await gateway.start()
  await gateway.settled()
  const handles = [...gateway.upstreams.values()]
  const isSettled = (): boolean => handles.every(one => ['ready', 'idle'].includes(one.status().state))
  await until(isSettled, 'all have been up once', 30_000)
  const notes = notesIn(file)
  let starting = 0
  let mostStarting = 0
  for (const { what } of notes.sort((a, b) => a.at - b.at)) {
    if (what === 'spawned') mostStarting = Math.max(mostStarting, ++starting)
    if (what === 'initialized') starting--
  }
  const alive = notes.filter(({ what, pid }) => what === 'spawned' && isAlive(pid)).length
  const states = handles.map(upstream => upstream.status().state)
  say('24 servers, room for 16: most starting at a time', mostStarting, mostStarting <= 4)
  say('24 servers, room for 16: processes alive', alive, alive <= 16)
  say(
    '24 servers, room for 16: ready / resting',
    ['ready', 'idle'].map(state => states.filter(one => one === state).length).join(' / '),
  )
}

const alive = setInterval(() => undefined, 1000)
try {
  const crashing = crashes()
  await restsUnderLoad()
  await replicasKilled()
  await bounded()
  await crashing
} finally {
  for (const cleanup of cleanups) await cleanup()
  clearInterval(alive)
}
process.exitCode = isFine ? 0 : 1
