import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { readOwnPackage } from '../../../../src/util/version.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { silentTerminal } from '../../fixtures/silent-terminal.ts'

const SOUND = '  files: { type: stdio, command: node, args: [server.mjs] }'

/** A home directory with a configuration in which all is well. */
export interface Lab {
  readonly context: TestContext
  readonly home: string
  readonly runtime: string
  readonly file: string
  readonly version: string
  readonly ends: (() => Promise<void>)[]
  readonly terminal: ReturnType<typeof silentTerminal>
  config(upstreams?: string, more?: string, listener?: string): Promise<void>
  write(path: string, text: string, mode?: number): Promise<void>
}

export async function lab(t: TestContext): Promise<Lab> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'doctor-')))
  const runtime = await realpath(await mkdtemp(join(tmpdir(), 'dr-')))
  cleanup(t, () => rm(home, { recursive: true, force: true }))
  cleanup(t, () => rm(runtime, { recursive: true, force: true }))
  const path = [join(home, 'bin'), dirname(process.execPath)].join(delimiter)
  const environment: Record<string, string | undefined> = {
    HOME: home,
    XDG_RUNTIME_DIR: runtime,
    PATH: path,
  }
  const file = join(home, 'gateway.yaml')
  const write: Lab['write'] = async (name, text, mode = 0o600) => {
    const target = join(home, name)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    await writeFile(target, text)
    await chmod(target, mode)
  }
  const made: Lab = {
    context: t,
    home,
    runtime,
    file,
    version: readOwnPackage().version,
    ends: [],
    terminal: silentTerminal({ cwd: home, environment }),
    config: (upstreams = SOUND, more = '', listener = '{ type: http, port: 0 }') =>
      write('gateway.yaml', `version: 1\nlisteners:\n  main: ${listener}\nupstreams:\n${upstreams}\n${more}\n`),
    write,
  }
  await write('server.mjs', '')
  await made.config()
  return made
}
