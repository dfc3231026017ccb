import { benchFile, type Children, type Load } from './children.ts'
import { API_KEY, type Plugins } from '../features.ts'
import type { Configs, GatewaySpec } from './gateways.ts'
import type { Target } from '../load/messages.ts'
import { startNginx } from './nginx.ts'
import type { Pins } from './pin.ts'

/** All that a request goes through: nothing, a yardstick, this gateway, or another. */
export type Label = string

export interface Subject {
  readonly label: Label
  readonly target: Target
  /** The process whose cost counts; undefined where nothing stands between. */
  readonly pid: number | undefined
  /** All that the names of tools begin with. */
  readonly prefix: string
  /** Another gateway: measured less, and its failures are its own. */
  readonly isRival?: boolean
}

/** The label of this gateway with these plugins. */
export function labelOf(plugins: Plugins): Label {
  if (plugins === 'none') return 'gateway, 0 plugins'
  if (plugins === 'all') return 'gateway, all plugins'
  return plugins === 'auth too' ? 'all and auth' : `${plugins} alone`
}

export interface WorkshopOptions {
  readonly children: Children
  readonly load: Load
  readonly configs: Configs
  readonly pins: Pins
  /** The gateway's launcher. */
  readonly launcher: string
  /** Arguments for the gateway's Node, such as `--cpu-prof`. */
  readonly nodeArgs: readonly string[]
}

/** Starts one thing at a time, as a subject. */
export class Workshop {
  readonly options: WorkshopOptions
  #server: Promise<string> | undefined
  #count = 0

  constructor(options: WorkshopOptions) {
    this.options = options
  }

  /** The HTTP server that all use. */
  async serverUrl(): Promise<string> {
    const { children, pins } = this.options
    this.#server ??= children.start([benchFile('peers/server-http.ts')], urlIn).then(({ pid, found }) => {
      pins.other(pid)
      return found
    })
    return this.#server
  }

  /** `server` is a URL, or a file and its arguments. */
  async raw(from: 'http' | 'stdio', to: 'http' | 'stdio', server: readonly string[]): Promise<Subject> {
    const args = [benchFile(`peers/raw-${from}-${to}.ts`), ...server]
    if (from === 'stdio') return this.pipe('raw', args, '')
    const { pid, found } = await this.options.children.start(args, urlIn)
    return { label: 'raw', target: { url: found }, pid, prefix: '' }
  }

  async nginx(url: string): Promise<Subject> {
    const { children, configs } = this.options
    const { pid, found } = await startNginx(children, new URL(url), configs.directory())
    return { label: 'nginx', target: { url: found }, pid, prefix: '' }
  }

  async gateway(spec: GatewaySpec, label: Label = labelOf(spec.plugins)): Promise<Subject> {
    const { children, configs, launcher, nodeArgs } = this.options
    const args = [...nodeArgs, launcher, 'serve', '--config', configs.write(spec)]
    const prefix = `${Object.keys(spec.upstreams)[0] ?? ''}__`
    if (spec.listener === 'stdio') return this.pipe(label, args, prefix)
    const { pid, found } = await children.start(args, listeningIn)
    const target = /^auth/.test(spec.plugins) ? { url: found, headers: { 'x-api-key': API_KEY } } : { url: found }
    return { label, target, pid, prefix }
  }

  /** A program for Node that speaks MCP on its pipes. */
  async pipe(label: Label, args: readonly string[], prefix: string): Promise<Subject> {
    const name = `${label} ${++this.#count}`
    const pid = await this.options.load.start(name, args)
    return { label, target: { process: name }, pid: label === 'direct' ? undefined : pid, prefix }
  }
}

export function direct(url: string): Subject {
  return { label: 'direct', target: { url }, pid: undefined, prefix: '' }
}

export function urlIn(output: string): string | undefined {
  return /^(http:\/\/\S+)\n/m.exec(output)?.[1]
}

/** The ready line of `serve` on a pipe is JSON. */
export function listeningIn(output: string): string | undefined {
  return /"message":"listening".*?"url":"([^"]+)"/.exec(output)?.[1]
}
