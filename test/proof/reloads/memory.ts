import { setTimeout as pause } from 'node:timers/promises'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatProblem, type Problem } from '../../../src/config/problem.ts'
import { MISTAKES } from './broken.ts'
import { startGateway, usageOf, type Gateway, type Usage } from './gateway.ts'

/** After the last reload: the old generation has ended, garbage is collected, and V8 has given its pages back. */
const REST_MS = 25_000
/** Until the last servers have ended. */
const MOST_MS = 30_000

/** A server of a shell, so that hundreds are cheap. */
const SERVER = `#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$id" "$1"; }
while read -r line; do
  case $line in *'"id":'*) ;; *) continue ;; esac
  id=\${line#*\\"id\\":}
  id=\${id%%[,\\}]*}
  case $line in
    *'"method":"initialize"'*)
      answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer '"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}' ;;
    *) answer '"error":{"code":-32601,"message":"no such method"}' ;;
  esac
done
`

/** All that reloads left of the process. */
export interface Grown {
  readonly cold: Usage
  readonly warm: Usage
  /** Straight after the last reload. */
  readonly busy: Usage
  readonly rested: Usage
  readonly pids: readonly (number | undefined)[]
}

/** Outcome of configurations that nobody means. */
export interface Refused {
  readonly refused: number
  /** Those whose refusal names file, line and column. */
  readonly located: number
  readonly wrong: readonly string[]
}

interface GrowOptions {
  /** Time between the last reload and the look at what is left. */
  readonly restMs?: number
  readonly flags?: readonly string[]
  readonly variables?: Readonly<Record<string, string>>
}

/** Reloads that each start one server and end another, after some that are not counted; and one server stays. */
export async function grow(
  warmUp: number,
  reloads: number,
  { restMs = REST_MS, flags = [], variables = {} }: GrowOptions = {},
): Promise<Grown> {
  const server = join(tmpdir(), `reload-server-${process.pid}.sh`)
  await writeFile(server, SERVER)
  const gateway = await startGateway(configText(server, 0), flags, variables)
  try {
    const cold = await usageOf(gateway.child)
    for (let round = 1; round <= warmUp; round++) await gateway.reload(configText(server, round))
    await pause(restMs)
    const warm = await usageOf(gateway.child)
    const before = await pidOf(gateway, 'stays')
    for (let round = 1; round <= reloads; round++) await gateway.reload(configText(server, warmUp + round))
    const busy = await usageOf(gateway.child)
    await pause(restMs)
    const rested = await likeBefore(gateway, warm)
    return { cold, warm, busy, rested, pids: [before, await pidOf(gateway, 'stays')] }
  } finally {
    await gateway.stop()
  }
}

/** Each mistake in the file of a running gateway, which must refuse it, say where it stands, and serve on. */
export async function refuseAll(): Promise<Refused & { readonly total: number; readonly served: number }> {
  const base = 'version: 1\nlog: { level: warn }\nlisteners:\n  main: { type: http, port: 0 }\n'
  const gateway = await startGateway(base)
  const wrong: string[] = []
  let [refused, located, served] = [0, 0, 0]
  try {
    for (const mistake of MISTAKES) {
      const told = await gateway.reload(`${base}${mistake}\n`).then(() => [], toldBy)
      if (told.length > 0) refused++
      if (told.some(line => /gateway\.yaml:\d+:\d+ /.test(line))) located++
      else wrong.push(`${mistake}: ${told.join(' | ') || 'accepted'}`)
      if (await serves(gateway)) served++
    }
    return { total: MISTAKES.length, refused, located, served, wrong }
  } finally {
    await gateway.stop()
  }
}

/** All that the owner is told of a refusal. */
function toldBy(thrown: unknown): string[] {
  const { message, fields = {} } = thrown as Error & { fields?: { problems?: Problem[] } }
  return [message, ...(fields.problems ?? []).map(problem => formatProblem(problem, '/'))]
}

function configText(server: string, round: number): string {
  const stdio = { type: 'stdio', command: '/bin/sh', args: [server], era: 'legacy' }
  return JSON.stringify({
    version: 1,
    log: { level: 'warn' },
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { stays: stdio, [`server-${round % 3}`]: stdio },
  })
}

/** All that it holds as soon as it holds no more than before: on a busy machine servers take their time to end. */
async function likeBefore({ child }: Gateway, { files, children }: Usage): Promise<Usage> {
  const end = performance.now() + MOST_MS
  for (;;) {
    const now = await usageOf(child)
    if ((now.files <= files && now.children <= children) || performance.now() > end) return now
    await pause(100)
  }
}

async function serves({ url }: Gateway): Promise<boolean> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const clientInfo = { name: 'proof', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  return (await fetch(url, { method: 'POST', headers, body })).status === 200
}

async function pidOf({ control }: Gateway, name: string): Promise<number | undefined> {
  const { upstreams } = (await control.request('ps')) as { upstreams: { name: string; pid?: number }[] }
  return upstreams.find(upstream => upstream.name === name)?.pid
}
