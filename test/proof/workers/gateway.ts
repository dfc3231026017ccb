import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const LAUNCHER = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))

/** A gateway under proof. */
export interface Proved {
  readonly child: ChildProcess
  readonly url: string
  readonly file: string
  /** The processes that accept, and the primary where there is one. */
  pids(): Promise<number[]>
  logged(message: string): Promise<void>
  stop(): Promise<number | null>
}

/** Starts one of so many processes; 1 is one without workers. */
export async function startGateway(config: object, workers: number): Promise<Proved> {
  const directory = await mkdtemp(join(tmpdir(), 'workers-'))
  const file = join(directory, 'gateway.yaml')
  await writeFile(file, JSON.stringify({ version: 1, log: { level: 'info' }, ...config }))
  const args = [LAUNCHER, 'serve', ...(workers === 1 ? [] : ['--workers', String(workers)])]
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
  const lines: Record<string, unknown>[] = []
  let heard: () => void = () => undefined
  createInterface({ input: child.stderr }).on('line', line => {
    lines.push(JSON.parse(line) as Record<string, unknown>)
    heard()
  })
  const found = async (message: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const at = lines.findIndex(line => line['message'] === message)
      if (at >= 0) return lines.splice(at, 1)[0] ?? {}
      await new Promise<void>(resolve => (heard = resolve))
    }
  }
  const url = String((await found('listening'))['url'])
  await found('serving')
  return {
    child,
    url,
    file,
    pids: () => ownProcesses(child.pid ?? 0),
    logged: message => found(message).then(() => undefined),
    stop: () => stop(child, directory),
  }
}

async function stop(child: ChildProcess, directory: string): Promise<number | null> {
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  child.kill('SIGTERM')
  const code = await ended
  await rm(directory, { recursive: true, force: true })
  return code
}

/** The gateway's process and its workers, without the servers that it has started. */
export async function ownProcesses(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const workers: number[] = []
  for (const child of text.trim().split(' ').filter(Boolean).map(Number))
    if ((await readFile(`/proc/${child}/cmdline`, 'utf8')).includes('--as-worker')) workers.push(child)
  return [pid, ...workers]
}
