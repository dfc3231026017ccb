/** Other gateways that npm has, and the plainest ones that one writes with the SDKs: `--peers`. */
import { benchFile } from './setup/children.ts'
import { groups, stdioUpstream, type GatewaySpec } from './setup/gateways.ts'
import { freePort } from '../fixtures/free-port.ts'
import { listening } from './setup/ports.ts'
import { installPrograms, ownVersion, type Program } from './rivals/install.ts'
import type { Wiring } from './subjects.ts'
import { urlIn, type Subject, type Workshop } from './setup/workshop.ts'

const READY_MS = 20_000
const ENTRIES = {
  'mcp-proxy': 'dist/bin/mcp-proxy.mjs',
  supergateway: 'dist/index.js',
  'mcp-remote': 'dist/proxy.js',
}
const SDKS = {
  'SDK v1 gateway': '@modelcontextprotocol/sdk',
  'SDK v2 gateway': '@modelcontextprotocol/server',
}
const SDK_FILES = { 'SDK v1 gateway': 'sdk-v1.ts', 'SDK v2 gateway': 'sdk-v2.ts' }

type Sdk = keyof typeof SDK_FILES
type Upstreams = GatewaySpec['upstreams']
type Start = (workshop: Workshop) => Promise<Subject>

/** Those that could be had. */
export class Rivals {
  readonly #programs: ReadonlyMap<string, Program>
  readonly #tell: (text: string) => void

  private constructor(programs: ReadonlyMap<string, Program>, tell: (text: string) => void) {
    this.#programs = programs
    this.#tell = tell
  }

  /** Installs them where that has not been done; says which cannot be had. */
  static async installed(tell: (text: string) => void): Promise<Rivals> {
    return new Rivals(await installPrograms(ENTRIES, tell), tell)
  }

  /** Such as `mcp-proxy 6.7.19`. */
  get versions(): readonly string[] {
    const programs = [...this.#programs].map(([name, { version }]) => `${name} ${version}`)
    return [...programs, ...Object.values(SDKS).map(name => `${name} ${ownVersion(name)}`)]
  }

  /** All that Node runs; undefined when it could not be had. */
  fileOf(name: keyof typeof ENTRIES): string | undefined {
    return this.#programs.get(name)?.file
  }

  /** Those that can do what a wiring is about; one that does not start is said and left out. */
  async subjects(wiring: Wiring, workshop: Workshop): Promise<readonly Subject[]> {
    const starts = await this.#starts(wiring, workshop)
    const subjects: Subject[] = []
    for (const [name, start] of starts) {
      try {
        subjects.push({ ...(await start(workshop)), isRival: true })
      } catch (error) {
        const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
        this.#tell(`${name}, ${wiring}: does not start: ${why}`)
      }
    }
    return subjects
  }

  async #starts(wiring: Wiring, workshop: Workshop): Promise<readonly (readonly [string, Start])[]> {
    const url = await workshop.serverUrl()
    const all = startsOf(wiring, url, name => this.#programs.get(name)?.file ?? '')
    return all.filter(([name]) => name in SDK_FILES || this.#programs.has(name))
  }
}

function startsOf(wiring: Wiring, url: string, file: (name: string) => string): readonly (readonly [string, Start])[] {
  const http: Upstreams = { up: { type: 'http', url, era: 'legacy' } }
  const stdio: Upstreams = { up: stdioUpstream() }
  const sdks = (from: 'http' | 'stdio', upstreams: Upstreams): readonly (readonly [string, Start])[] =>
    (['SDK v1 gateway', 'SDK v2 gateway'] as const).map(sdk => [sdk, startSdk(sdk, from, upstreams)])
  const starts: Partial<Record<Wiring, readonly (readonly [string, Start])[]>> = {
    'http-http': sdks('http', http),
    'http-http-modern': [['SDK v2 gateway', startSdk('SDK v2 gateway', 'http', http, 'modern')]],
    'http-stdio': [
      ['mcp-proxy', startProxy(file('mcp-proxy'))],
      ['supergateway', startSuper(file('supergateway'))],
      ...sdks('http', stdio),
    ],
    'stdio-stdio': sdks('stdio', stdio),
    'stdio-http': [
      [
        'mcp-remote',
        pipe('mcp-remote', [file('mcp-remote'), url, '--allow-http', '--transport', 'http-only', '--silent']),
      ],
      ['supergateway', pipe('supergateway', [file('supergateway'), '--streamableHttp', url, '--logLevel', 'none'])],
      ...sdks('stdio', http),
    ],
    lists: sdks('http', groups(url, 10, 100)),
  }
  return starts[wiring] ?? []
}

function pipe(label: string, args: readonly string[]): Start {
  return workshop => workshop.pipe(label, args, '')
}

/** Arguments for Node that start the plainest gateway with an SDK. */
export function sdkArgs(
  sdk: Sdk,
  listener: 'http' | 'stdio',
  upstreams: Upstreams,
  era: 'legacy' | 'modern' = 'legacy',
): readonly string[] {
  return [benchFile(`rivals/${SDK_FILES[sdk]}`), listener, JSON.stringify(upstreams), era]
}

function startSdk(sdk: Sdk, listener: 'http' | 'stdio', upstreams: Upstreams, era?: 'legacy' | 'modern'): Start {
  const prefix = `${Object.keys(upstreams)[0] ?? ''}__`
  const args = sdkArgs(sdk, listener, upstreams, era)
  return async workshop => {
    if (listener === 'stdio') return workshop.pipe(sdk, args, prefix)
    const { pid, found } = await workshop.options.children.start(args, urlIn)
    return { label: sdk, target: { url: found }, pid, prefix }
  }
}

function startProxy(file: string): Start {
  return async workshop => {
    const args = [
      '--host',
      '127.0.0.1',
      '--server',
      'stream',
      '--',
      process.execPath,
      benchFile('peers/server-stdio.ts'),
    ]
    const { pid, port } = await onPort(workshop, [file, '--port'], args)
    return { label: 'mcp-proxy', target: { url: `http://127.0.0.1:${port}/mcp` }, pid, prefix: '' }
  }
}

function startSuper(file: string): Start {
  return async workshop => {
    const command = `"${process.execPath}" "${benchFile('peers/server-stdio.ts')}"`
    const args = ['--stdio', command, '--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none']
    const { pid, port } = await onPort(workshop, [file, '--port'], args)
    return { label: 'supergateway', target: { url: `http://127.0.0.1:${port}/mcp` }, pid, prefix: '' }
  }
}

async function onPort(
  { options }: Workshop,
  before: readonly string[],
  after: readonly string[],
): Promise<{ pid: number; port: number }> {
  const port = await freePort()
  const pid = options.children.run(process.execPath, [...before, String(port), ...after])
  await listening(port, READY_MS)
  return { pid, port }
}
