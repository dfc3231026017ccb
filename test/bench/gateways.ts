import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchFile } from './children.ts'

/** How many plugins are on: none, or eight. */
export type Plugins = 'none' | 'eight'

export type UpstreamSpec =
  | { readonly type: 'http'; readonly url: string; readonly era: 'legacy' | 'modern' }
  | {
      readonly type: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly era: 'legacy'
    }

/** What a gateway under test is made of. */
export interface GatewaySpec {
  readonly listener: 'http' | 'stdio'
  readonly upstreams: Readonly<Record<string, UpstreamSpec>>
  readonly plugins: Plugins
}

/** The cheapest server over stdio, as an upstream. */
export function stdioUpstream(): UpstreamSpec {
  return {
    type: 'stdio',
    command: process.execPath,
    args: [benchFile('peers/server-stdio.ts')],
    era: 'legacy',
  }
}

/** Directories with one gateway.yaml each. */
export class Configs {
  readonly #root = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  #count = 0

  constructor() {
    process.once('exit', () => this.remove())
  }

  /** Writes the configuration; returns its path. JSON is YAML. */
  write(spec: GatewaySpec): string {
    const file = join(this.#root, `gateway-${++this.#count}.yaml`)
    writeFileSync(file, JSON.stringify(configOf(spec), undefined, 2))
    return file
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true })
  }
}

/** The configuration itself. */
export function configOf({ listener, upstreams, plugins }: GatewaySpec): Readonly<Record<string, unknown>> {
  const main = listener === 'http' ? { type: 'http', port: 0 } : { type: 'stdio' }
  return { version: 1, listeners: { main }, ...(plugins === 'none' ? bare(upstreams) : full(upstreams)) }
}

/** Nothing that taps a hook: not even deadlines, turns, breakers and retries, which are on by default. */
function bare(upstreams: GatewaySpec['upstreams']): object {
  const none = { timeout: 0, limits: { concurrency: 0 }, breaker: false, retry: false }
  const untimed = Object.entries(upstreams).map(([name, spec]) => [name, { ...spec, ...none }])
  return { cache: false, upstreams: Object.fromEntries(untimed) as object }
}

/** Routing, tool-filter, session-headers, cache and resilience, and three of the bench's own. */
function full(upstreams: GatewaySpec['upstreams']): object {
  const [first = ''] = Object.keys(upstreams)
  const own = ['count', 'stamp', 'wait'].map(name => [name, { use: benchFile(`plugins/${name}.ts`) }])
  return {
    upstreams,
    cache: { lists: '5m' },
    sessionHeaders: { header: 'X-Session-ID', upstreams: Object.keys(upstreams) },
    routes: [
      { match: { tool: 'forbidden_*' }, deny: 'not for you' },
      { match: { tool: `${first}__*` }, to: first },
    ],
    filters: { tools: { deny: ['secret_*', '*_danger'] } },
    plugins: Object.fromEntries(own) as object,
  }
}
