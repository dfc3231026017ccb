// Nothing is left behind: sessions that die, servers that are killed, gateways that are killed. Linux only; about two minutes.
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { watchdogsOf, processesWith, zombiesOf, type Found } from '../fixtures/processes.ts'
import { strays, timeToZero } from './leaks/count.ts'
import { configOf, startGateway, type Running } from './leaks/gateway.ts'
import { openAndDie } from './leaks/sessions.ts'

const LIMIT_MS = 2000
const GUARDIAN_LIMIT_MS = 5000
const SESSIONS = Number(process.env.SESSIONS ?? 1000)
const AT_ONCE = 10
const KILLS = 100
const SERVERS = 10
const GATEWAYS = 20

let failures = 0
process.setMaxListeners(GATEWAYS * 2)

await sessionsThatDie()
await serversThatAreKilled()
await gatewaysThatAreKilled()
process.exitCode = failures === 0 ? 0 : 1

async function sessionsThatDie(): Promise<void> {
  const cookie = randomUUID()
  const gateway = await startGateway(configOf(cookie, 1, 'session'))
  await openAndDie(gateway.webSocket)
  await timeToZero(() => extra(cookie, gateway), 10_000)
  const begin = performance.now()
  let peak = 0
  let refused = 0
  for (let done = 0; done < SESSIONS;) {
    const wanted = Array.from({ length: Math.min(AT_ONCE, SESSIONS - done) }, () => openAndDie(gateway.webSocket))
    const opened = (await Promise.all(wanted)).filter(Boolean).length
    done += opened
    refused += wanted.length - opened
    peak = Math.max(peak, processesWith(cookie).length)
    // At most 64 have a process at once, and those that stop count until they have.
    if (opened < wanted.length) await new Promise(resolve => setTimeout(resolve, 200))
  }
  const seconds = (performance.now() - begin) / 1000
  const after = await timeToZero(() => extra(cookie, gateway), LIMIT_MS)
  report(
    `${SESSIONS} sessions opened and killed (7 processes each, peak ${peak}, ${refused} had to try again, ${seconds.toFixed(0)} s)`,
    after,
    gateway,
  )
  await stopGateway('SIGTERM', gateway, cookie)
}

/** All but the server that lists come from. */
function extra(cookie: string, { pid }: Running): Found[] {
  const all = processesWith(cookie)
  return all.length <= 7 ? strays(cookie, pid) : all
}

async function serversThatAreKilled(): Promise<void> {
  const cookie = randomUUID()
  const gateway = await startGateway(configOf(cookie, SERVERS, 'shared'))
  for (let killed = 0; killed < KILLS;) {
    const all = processesWith(cookie)
    const victim = all[randomInt(Math.max(all.length, 1))]
    if (victim !== undefined && kill(victim.pid, 'SIGKILL')) killed++
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  const after = await timeToZero(() => strays(cookie, gateway.pid), LIMIT_MS)
  report(`${KILLS} × kill -9 of random processes of ${SERVERS} servers`, after, gateway)
  await stopGateway('SIGTERM', gateway, cookie)
}

async function gatewaysThatAreKilled(): Promise<void> {
  const times: number[] = []
  const guardians: number[] = []
  const left: Found[] = []
  for (let round = 0; round < GATEWAYS; round++) {
    const cookie = randomUUID()
    const gateway = await startGateway(configOf(cookie, 3, 'shared', 'leaves'))
    await timeToZero(() => (processesWith(cookie).length >= 18 ? [] : [{ pid: 0, command: 'wait' }]), 10_000)
    const run = `tapgate:${gateway.pid}:`
    // Every other time as a supervisor does: with all of its group.
    kill(round % 2 === 0 ? gateway.pid : -gateway.pid, 'SIGKILL')
    await once(gateway.child, 'exit')
    const begin = performance.now()
    const after = await timeToZero(() => [...processesWith(cookie), ...processesWith(run)], LIMIT_MS)
    times.push(after.ms)
    const guardian = await timeToZero(() => watchdogsOf(run), GUARDIAN_LIMIT_MS)
    guardians.push(performance.now() - begin)
    left.push(...after.left, ...guardian.left)
  }
  const figures = `${spread(times)}; the guardians gone: ${spread(guardians)}`
  print(`${GATEWAYS} × kill -9 of the gateway, 3 servers each (${figures})`, left, 0)
}

async function stopGateway(signal: NodeJS.Signals, gateway: Running, cookie: string): Promise<void> {
  const begin = performance.now()
  const gone = once(gateway.child, 'exit')
  gateway.child.kill(signal)
  await gone
  const ms = Math.round(performance.now() - begin)
  print(`  then ${signal} to that gateway (it took ${ms} ms)`, processesWith(cookie), 0)
}

function report(what: string, { ms, left }: { ms: number; left: readonly Found[] }, { pid }: Running): void {
  print(`${what}, zero after ${Math.round(ms)} ms`, left, zombiesOf(pid).length)
}

function print(what: string, left: readonly Found[], defunct: number): void {
  const isGood = left.length === 0 && defunct === 0
  if (!isGood) failures++
  console.log(`${isGood ? 'PASS' : 'FAIL'}  ${what}: ${left.length} left, ${defunct} defunct`)
  for (const { pid, command } of left.slice(0, 10)) console.log(`      ${pid} ${command}`)
}

function spread(times: number[]): string {
  times.sort((a, b) => a - b)
  return `median ${Math.round(times[times.length >> 1] ?? 0)} ms, worst ${Math.round(times.at(-1) ?? 0)} ms`
}

function kill(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
