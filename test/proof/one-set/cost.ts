import { setTimeout as pause } from 'node:timers/promises'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { LAUNCHER } from '../../peers/gateway.ts'
import { below, memoryOf } from './processes.ts'
import type { Check } from './said.ts'

const STARTS = 9

interface Place {
  readonly config: string
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
}

/** Time to the first answer and memory of a thin client, beside a Node that does nothing. */
export async function cost({ config, env, folder }: Place, check: Check): Promise<void> {
  const node = ['-e', 'process.stdin.on("data", () => process.stdout.write("{}\\n"))']
  const rows = [
    ['node that does nothing', process.execPath, node],
    ['gateway attach', process.execPath, [LAUNCHER, 'attach', '-c', config]],
  ] as const
  const found: { ms: number; pss: number; rss: number }[] = []
  for (const [title, command, args] of rows) {
    const starts: Awaited<ReturnType<typeof started>>[] = []
    for (let i = 0; i < STARTS; i++) starts.push(await started(command, args, env, folder))
    const median = (key: 'ms' | 'pss' | 'rss'): number =>
      starts.map(one => one[key]).sort((a, b) => a - b)[STARTS >> 1] ?? 0
    const row = { ms: median('ms'), pss: median('pss'), rss: median('rss') }
    found.push(row)
    console.log(
      `       ${title}: ${row.ms.toFixed(0)} ms to its first answer, ${row.pss.toFixed(1)} MiB PSS, ${row.rss.toFixed(1)} MiB RSS (medians of ${STARTS})`,
    )
  }
  const [nothing, thin] = found
  if (nothing === undefined || thin === undefined) return
  check(
    thin.rss < nothing.rss * 1.25,
    `an attached client takes ${(thin.rss / nothing.rss).toFixed(2)} times the memory of a Node that does nothing, and ${(thin.ms / nothing.ms).toFixed(2)} times its time`,
  )
}

async function started(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<{ ms: number; pss: number; rss: number }> {
  const hello = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'proof', version: '1' },
  }
  const began = performance.now()
  const child = spawn(command, [...args], { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })}\n`)
  await once(child.stdout, 'data')
  const ms = performance.now() - began
  await pause(200)
  const { pss, rss } = await memoryOf([child.pid ?? 0, ...(await below(child.pid ?? 0))])
  child.stdin.end()
  child.kill('SIGKILL')
  await once(child, 'exit')
  return { ms, pss, rss }
}
