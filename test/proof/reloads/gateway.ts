import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connectControl, type ControlClient } from '../../../src/control/client.ts'
import { findLivingSockets } from '../../../src/control/sockets.ts'
import { LAUNCHER } from '../../peers/gateway.ts'

/** A gateway in a process of its own, whose file is changed and which is told to reload it. */
export interface Gateway {
  readonly child: ChildProcess
  readonly url: string
  readonly control: ControlClient
  reload(text: string): Promise<void>
  stop(): Promise<void>
}

/** All that the process holds. */
export interface Usage {
  /** Resident memory in MiB. */
  readonly rss: number
  readonly files: number
  readonly children: number
}

/** Starts a gateway on this configuration, which has one HTTP listener. */
export async function startGateway(text: string): Promise<Gateway> {
  const directory = await mkdtemp(join(tmpdir(), 'reloads-'))
  const file = join(directory, 'gateway.yaml')
  await writeFile(file, text)
  const environment = { ...process.env, XDG_RUNTIME_DIR: directory, GATEWAY_ENV: '' }
  const child = spawn(process.execPath, [LAUNCHER, 'serve', '-c', file, '--set', 'log.level=info'], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let listening = ''
    createInterface({ input: child.stderr }).on('line', line => {
      const { message, url } = JSON.parse(line) as { message: string; url?: string }
      if (message === 'listening' && url !== undefined) listening = url
      if (message === 'serving') resolve(listening)
    })
    child.once('exit', code => reject(new Error(`the gateway ended with ${code}`)))
  })
  const control = await connectControl(await socketOf({ file, env: '', environment }))
  const reload = async (changed: string): Promise<void> => {
    await writeFile(file, changed)
    await control.request('reload')
  }
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await new Promise(resolve => child.once('exit', resolve))
    await rm(directory, { recursive: true, force: true })
  }
  return { child, url, control, reload, stop }
}

/** The control socket is opened a moment after the listeners. */
async function socketOf(whose: Parameters<typeof findLivingSockets>[0]): Promise<string> {
  for (let look = 0; look < 200; look++) {
    const [socket] = await findLivingSockets(whose)
    if (socket !== undefined) return socket
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('the gateway opened no control socket')
}

/** Linux only. */
export async function usageOf({ pid }: ChildProcess): Promise<Usage> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return {
    rss: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024),
    files: (await readdir(`/proc/${pid}/fd`)).length,
    children: children.trim().split(/\s+/).filter(Boolean).length,
  }
}
