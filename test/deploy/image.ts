import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { cleanup } from '../fixtures/cleanup.ts'
import { PACKAGE } from '../e2e/cli/run.ts'
import { requireBuild } from '../peers/gateway.ts'
import { readDockerfile, type Instruction } from './dockerfile.ts'

const run = promisify(execFile)
const hasBwrap = spawnSync('bwrap', ['--ro-bind', '/', '/', 'true']).status === 0

/** Why the image is not run: on a machine of somebody's own only. */
export const skip =
  hasBwrap || process.env.CI !== undefined
    ? false
    : 'bubblewrap is not installed, or may not be used: apt-get install bubblewrap (in CI this test fails without it)'

/** The image without docker: the files that the Dockerfile lays down, and what it says of running them. */
export interface Image {
  /** Starts its entry point with its command; undefined arguments are those of the Dockerfile. */
  start(config: string): Container
  /** The exit code of the command that says how it does. */
  health(): Promise<number | null>
  /** The directory that is its only volume. */
  readonly volume: string
}

export interface Container {
  /** Process of the gateway, as the machine sees it. */
  pid(): Promise<number>
  readonly exit: Promise<number | null>
  logged(message: string): Promise<Record<string, unknown>>
}

export async function imageOf(t: TestContext): Promise<Image> {
  const directory = await mkdtemp(join(tmpdir(), 'image-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const [app, volume, etc] = ['app', 'volume', 'etc'].map(name => join(directory, name)) as [string, string, string]
  for (const path of [volume, etc]) await mkdir(path, { mode: 0o700 })
  const needed = await layDown(directory, app)
  const { stages } = readDockerfile(await readFile(join(PACKAGE, 'deploy/docker/Dockerfile'), 'utf8'))
  const says = (name: string): Instruction | undefined =>
    stages.flatMap(({ instructions }) => instructions).findLast(one => one.name === name)
  const listOf = (text = '[]'): string[] => JSON.parse(text.slice(text.indexOf('['))) as string[]
  const place = { app, needed, volume, etc, variables: variablesOf(says('ENV')?.text ?? '') }
  return {
    volume,
    start: config => {
      spawnSync('cp', [config, join(etc, 'gateway.yaml')])
      const command = [...listOf(says('ENTRYPOINT')?.text), ...listOf(says('CMD')?.text)]
      return contained(t, spawn('bwrap', [...walls(place), ...command], { stdio: ['ignore', 'ignore', 'pipe'] }))
    },
    health: async () => {
      const command = listOf(/CMD (\[.*\])$/.exec(says('HEALTHCHECK')?.text ?? '')?.[1])
      const child = spawn('bwrap', [...walls(place), ...command], { stdio: 'ignore' })
      const [code] = (await once(child, 'exit')) as [number | null]
      return code
    },
  }
}

/** Lays down what `npm pack` packs. Resolves with the packages that it needs, none of those for development among them. */
async function layDown(directory: string, app: string): Promise<readonly string[]> {
  requireBuild()
  const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory], {
    cwd: PACKAGE,
  })
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  await mkdir(app)
  await run('tar', ['-xzf', join(directory, filename), '-C', app, '--strip-components=1'])
  const { packages } = JSON.parse(await readFile(join(PACKAGE, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>
  }
  // Those of other systems are not there.
  const needed = Object.entries(packages).filter(
    ([path, { dev = false, devOptional = false }]) =>
      /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) &&
      (path === 'node_modules/@redis/client' || !(dev || devOptional)) &&
      existsSync(join(PACKAGE, path)),
  )
  for (const [path] of needed) await mkdir(join(app, path), { recursive: true })
  return needed.map(([path]) => path)
}

function variablesOf(text: string): [string, string][] {
  return [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
}

interface Inside {
  readonly app: string
  /** Packages that are mounted into it. */
  readonly needed: readonly string[]
  readonly volume: string
  readonly etc: string
  readonly variables: readonly (readonly [string, string])[]
}

/** Another user, a root that nobody can write to, and one volume. */
function walls({ app, needed, volume, etc, variables }: Inside): string[] {
  const node = dirname(process.execPath)
  return [
    ...['--unshare-user', '--uid', '10001', '--gid', '10001', '--unshare-pid', '--as-pid-1', '--die-with-parent'],
    ...['--ro-bind', '/usr', '/usr', '--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64'],
    ...['--symlink', 'usr/bin', '/bin', '--proc', '/proc', '--dev', '/dev'],
    ...['--ro-bind', node, '/opt/node', '--ro-bind', app, '/app', '--ro-bind', etc, '/etc/gateway'],
    ...needed.flatMap(path => ['--ro-bind', join(PACKAGE, path), `/app/${path}`]),
    ...['--bind', volume, '/var/lib/gateway', '--remount-ro', '/', '--chdir', '/var/lib/gateway', '--clearenv'],
    ...['--setenv', 'PATH', '/opt/node:/usr/bin'],
    ...variables.flatMap(([name, value]) => ['--setenv', name, value]),
  ]
}

function contained(t: TestContext, child: ChildProcess): Container {
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  cleanup(t, async () => {
    child.kill('SIGKILL')
    await exit
  })
  const lines: string[] = []
  const looks = new Set<() => void>()
  createInterface({ input: child.stderr ?? process.stdin }).on('line', line => {
    lines.push(line)
    for (const look of looks) look()
  })
  return {
    exit,
    pid: () => childOf(child.pid ?? 0),
    logged: message =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find(line => line.includes(`"${message}"`))
          if (found !== undefined) resolve(JSON.parse(found) as Record<string, unknown>)
        }
        looks.add(look)
        look()
        void exit.then(code => reject(new Error(`it ended with ${String(code)}:\n${lines.join('\n')}`)))
      }),
  }
}

async function childOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return Number(text.trim().split(' ')[0])
}
