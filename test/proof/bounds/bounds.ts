/**
 * Fills what a gateway keeps for its callers beyond its bounds, and looks at its memory meanwhile: streams that nobody reads,
 * bodies that do not end, and 100,000 callers who each leave a session, a share of a limit and an answer in the cache.
 * `npm run proof -- bounds`, about ten minutes; Linux only. The gateway's memory is set up as `gateway up` does it.
 *
 *   COUNT=10000 npm run proof -- bounds     for fewer callers
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as passed } from 'node:timers/promises'
import { mallocVariables } from '../../../src/util/process/malloc.ts'
import { startIssuer } from '../access/issuer.ts'
import { answers, bodies, sessions, streams, type Statuses } from './fill.ts'
import { firstMatch } from '../bulkheads/first-match.ts'

const COUNT = Number(process.env['COUNT'] ?? 100_000)
const STREAMS = 200
const WARM_UP = 2000
const BODIES = 20
const HOLD_MS = 15_000
/** For what a phase has left behind: connections, garbage. */
const REST_MS = 4000
const LOOK_MS = 100
const RESOURCE = 'https://gateway.example.com/mcp'
const LAUNCHER = join(import.meta.dirname, '../../../bin/run.js')
const CHATTY = join(import.meta.dirname, 'chatty.ts')

const directory = mkdtempSync(join(tmpdir(), 'gateway-bounds-'))
const issuer = await startIssuer()
const file = join(directory, 'gateway.yaml')
const args = ['--disable-warning=ExperimentalWarning', CHATTY]
const config = {
  version: 1,
  listeners: { main: { type: 'http', port: 0 } },
  auth: { jwt: [{ issuer: issuer.url, jwks: issuer.jwks }], resource: RESOURCE },
  rateLimit: { rules: { each: { perMinute: 300 } } },
  cache: { tools: { chatty__echo: '1h' } },
  log: { level: 'info', format: 'json' },
  upstreams: { chatty: { type: 'stdio', command: process.execPath, args, era: 'legacy' } },
}
writeFileSync(file, JSON.stringify(config))
const child = spawn(process.execPath, [LAUNCHER, 'serve', '-c', file], {
  stdio: ['ignore', 'ignore', 'pipe'],
  cwd: directory,
  env: { ...process.env, ...mallocVariables(process.env) },
})
let isFine = true
try {
  const url = await firstMatch(child, 'stderr', /http:\/\/127\.0\.0\.1:\d+\/mcp/)
  child.stderr.resume()
  const token = (n: number): Promise<string> => issuer.sign(RESOURCE, { sub: `caller-${n}` })
  // So that compiled code and the space for young objects are there before anything counts.
  await streams(url, STREAMS / 10, REST_MS, token)
  await sessions(url, WARM_UP, token)
  await answers(url, WARM_UP, token)
  await passed(REST_MS)
  await judge(`${STREAMS} event streams that nobody reads`, 64, () => streams(url, STREAMS, HOLD_MS, token))
  await judge(`${BODIES} bodies of 4 MiB that do not end`, 2 * 4 * BODIES, () =>
    bodies(url, BODIES, HOLD_MS / 3, token),
  )
  await judge(`sessions of ${COUNT} callers`, 100, () => sessions(url, COUNT, token))
  await judge(`limits and answers of ${COUNT} callers`, 100, () => answers(url, COUNT, token))
} finally {
  child.kill('SIGKILL')
  await issuer.close()
  rmSync(directory, { recursive: true, force: true })
}
console.log(isFine ? 'every line holds' : 'NOT every line holds')
process.exitCode = isFine ? 0 : 1

/** Does what fills it, and compares the most memory meanwhile with what it had before. */
async function judge(what: string, mostMib: number, fill: () => Promise<Statuses>): Promise<void> {
  const before = rssMib()
  let most = before
  const timer = setInterval(() => (most = Math.max(most, rssMib())), LOOK_MS)
  const statuses = await fill()
  clearInterval(timer)
  await passed(REST_MS)
  const holds = most - before <= mostMib && child.exitCode === null
  isFine &&= holds
  console.log(
    `${what.padEnd(44)} ${before} MiB, +${most - before} at most (${mostMib} may be), +${rssMib() - before} after · ` +
      `${JSON.stringify(statuses)} · ${holds ? 'holds' : 'DOES NOT HOLD'}`,
  )
}

function rssMib(): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
}
