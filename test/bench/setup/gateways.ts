import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchFile } from './children.ts'
import { featuresOf, type Plugins } from '../features.ts'

export type UpstreamSpec =
  | { readonly type: 'http'; readonly url: string; readonly era: 'legacy' | 'modern' }
  | {
      readonly type: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly era: 'legacy'
    }

/** All that a gateway under test is made of. */
export interface GatewaySpec {
  readonly listener: 'http' | 'stdio'
  readonly upstreams: Readonly<Record<string, UpstreamSpec>>
  readonly plugins: Plugins
}

/** The cheapest server over stdio, as an upstream. */
export function stdioUpstream(...args: readonly string[]): UpstreamSpec {
  return {
    type: 'stdio',
    command: process.execPath,
    args: [benchFile('peers/server-stdio.ts'), ...args],
    era: 'legacy',
  }
}

/** So many of them, by name. */
export function stdioUpstreams(count: number): GatewaySpec['upstreams'] {
  const named = Array.from({ length: count }, (_, nth) => [`s${nth}`, stdioUpstream('4', `s${nth}_`)] as const)
  return Object.fromEntries(named)
}

/** HTTP upstreams with so many tools each. */
export function groups(url: string, count: number, tools: number): Readonly<Record<string, UpstreamSpec>> {
  const named = Array.from({ length: count }, (_, nth) => {
    const spec: UpstreamSpec = { type: 'http', url: `${url}/${tools}/s${nth}_`, era: 'legacy' }
    return [`s${nth}`, spec] as const
  })
  return Object.fromEntries(named)
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
    const directory = this.directory()
    const file = join(directory, 'gateway.yaml')
    writeFileSync(file, JSON.stringify(configOf(spec, directory), undefined, 2))
    return file
  }

  /** A new directory, for anything. */
  directory(): string {
    const directory = join(this.#root, String(++this.#count))
    mkdirSync(directory)
    return directory
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true })
  }
}

/** The configuration itself; what is written while it runs goes to the directory. */
export function configOf(
  { listener, upstreams, plugins }: GatewaySpec,
  directory: string,
): Readonly<Record<string, unknown>> {
  const limits = { sessions: 10_000, sessionsPerPrincipal: 10_000, connections: 8192 }
  const main = listener === 'http' ? { type: 'http', port: 0, limits } : { type: 'stdio' }
  const names = Object.keys(upstreams)
  const httpUpstreams = names.filter(name => upstreams[name]?.type === 'http')
  const { sections, upstream, httpUpstream } = featuresOf(plugins, {
    upstreams: names,
    httpUpstreams,
    directory,
  })
  const dressed = Object.entries(upstreams).map(([name, spec]) => {
    const more = spec.type === 'http' ? httpUpstream : {}
    return [name, { ...spec, ...upstream, ...more }] as const
  })
  return {
    version: 1,
    listeners: { main },
    state: { directory: join(directory, 'state') },
    upstreams: Object.fromEntries(dressed),
    ...sections,
  }
}
