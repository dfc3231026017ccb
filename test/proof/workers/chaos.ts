import { setTimeout as pause } from 'node:timers/promises'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { EACH, printCounts, startCallers } from '../replicas/callers.ts'
import { startGateway, type Proved } from './gateway.ts'

const SERVER = fileURLToPath(new URL('../../fixtures/everything.ts', import.meta.url))
const PHASE_MS = 3000

/** False when an answer was another's, or more was lost than what was under way at a kill. */
export async function chaos(): Promise<boolean> {
  const gateway = await startGateway(config('none'), 2)
  // Whatever goes wrong, a client begins anew, as its users do.
  const callers = startCallers(gateway.url, () => true)
  await phases(gateway)
  const counts = await callers.stop()
  const [primary, ...workers] = await gateway.pids()
  const code = await gateway.stop()
  const left = [primary ?? 0, ...workers].filter(isAlive).length
  printCounts(counts)
  console.log(`stopped with ${String(code)}, ${left} of its processes left`)
  // Each client has at most one call under way at each of the two kills, and may meet its lost session once.
  const isFine = [...counts.values()].every(({ mixed, lost }) => mixed === 0 && lost <= 4 * EACH)
  return isFine && code === 0 && left === 0
}

async function phases(gateway: Proved): Promise<void> {
  const { file, child } = gateway
  await pause(PHASE_MS)
  await kill(gateway, 1)
  await pause(PHASE_MS)
  await writeFile(file, (await readFile(file, 'utf8')).replace('"none"', '"test_vendor"'))
  child.kill('SIGHUP')
  await gateway.logged('configuration reloaded')
  console.log('reloaded')
  await pause(PHASE_MS)
  await kill(gateway, 2)
  await pause(PHASE_MS)
}

async function kill(gateway: Proved, number: number): Promise<void> {
  const pid = (await gateway.pids())[number]
  if (pid === undefined) throw new Error(`there is no worker ${number}`)
  process.kill(pid, 'SIGKILL')
  await gateway.logged('a worker has ended; another process takes its place')
  console.log(`killed worker ${number}`)
}

function config(deny: string): object {
  return {
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: {
      all: { type: 'stdio', command: process.execPath, args: [SERVER, '--stdio'], prefix: '' },
    },
    filters: { tools: { deny: [deny] } },
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
