import { benchFile, type Children, type Load } from './children.ts'
import { stdioUpstream, type Configs, type GatewaySpec, type Plugins, type UpstreamSpec } from './gateways.ts'
import type { Target } from './load/messages.ts'
import type { Pins } from './pin.ts'

/** What a request goes through: nothing, a yardstick, or the gateway. */
export type Label = 'direct' | 'raw' | 'gateway, 0 plugins' | 'gateway, 8 plugins'

export interface Subject {
  readonly label: Label
  readonly target: Target
  /** The process whose cost counts; undefined where nothing stands between. */
  readonly pid: number | undefined
  /** What the names of tools begin with. */
  readonly prefix: string
}

/** What stands where, for one kind of work. */
export type Wiring = 'http-http' | 'http-http-modern' | 'http-stdio' | 'stdio-stdio' | 'stdio-http' | 'lists'

export interface LabOptions {
  readonly children: Children
  readonly load: Load
  readonly configs: Configs
  readonly pins: Pins
  /** The gateway's launcher. */
  readonly launcher: string
  /** Arguments for the gateway's Node, such as `--cpu-prof`. */
  readonly nodeArgs: readonly string[]
}

/** Starts what is measured, each wiring when it is first asked for. */
export class Lab {
  readonly #options: LabOptions
  readonly #wirings = new Map<Wiring, Promise<readonly Subject[]>>()
  #server: Promise<string> | undefined
  #count = 0

  constructor(options: LabOptions) {
    this.#options = options
  }

  subjects(wiring: Wiring): Promise<readonly Subject[]> {
    let subjects = this.#wirings.get(wiring)
    if (subjects === undefined) {
      subjects = this.#make(wiring)
      this.#wirings.set(wiring, subjects)
    }
    return subjects
  }

  async #make(wiring: Wiring): Promise<readonly Subject[]> {
    const url = await this.#serverUrl()
    if (wiring === 'lists') return this.#lists(url)
    const [from, to] = wiring.split('-') as ['http' | 'stdio', 'http' | 'stdio']
    const era = wiring === 'http-http-modern' ? 'modern' : 'legacy'
    const upstream: UpstreamSpec = to === 'http' ? { type: 'http', url, era } : stdioUpstream()
    const server = to === 'http' ? url : benchFile('peers/server-stdio.ts')
    return Promise.all([
      to === 'http' ? Promise.resolve(direct(url)) : this.#pipe('direct', [server], ''),
      this.#raw(from, to, server),
      this.#gateway({ listener: from, upstreams: { up: upstream }, plugins: 'none' }),
      this.#gateway({ listener: from, upstreams: { up: upstream }, plugins: 'eight' }),
    ])
  }

  /** A thousand tools: of one server, or of ten behind a gateway. */
  async #lists(url: string): Promise<readonly Subject[]> {
    const groups = Array.from({ length: 10 }, (_, index) => `s${index}`)
    const upstreams = Object.fromEntries(
      groups.map(name => [name, { type: 'http', url: `${url}/100/${name}_`, era: 'legacy' } as const]),
    )
    const whole = `${url}/1000/all_`
    return Promise.all([
      Promise.resolve(direct(whole)),
      this.#raw('http', 'http', whole),
      this.#gateway({ listener: 'http', upstreams, plugins: 'none' }),
      this.#gateway({ listener: 'http', upstreams, plugins: 'eight' }),
    ])
  }

  async #serverUrl(): Promise<string> {
    const { children, pins } = this.#options
    this.#server ??= children.start([benchFile('peers/server-http.ts')], urlIn).then(({ pid, found }) => {
      pins.other(pid)
      return found
    })
    return this.#server
  }

  async #raw(from: 'http' | 'stdio', to: 'http' | 'stdio', server: string): Promise<Subject> {
    const args = [benchFile(`peers/raw-${from}-${to}.ts`), server]
    if (from === 'stdio') return this.#pipe('raw', args, '')
    const { pid, found } = await this.#options.children.start(args, urlIn)
    return { label: 'raw', target: { url: found }, pid, prefix: '' }
  }

  async #gateway(spec: GatewaySpec): Promise<Subject> {
    const { children, configs, launcher, nodeArgs } = this.#options
    const args = [...nodeArgs, launcher, 'serve', '--config', configs.write(spec)]
    const label = LABELS[spec.plugins]
    const prefix = `${Object.keys(spec.upstreams)[0] ?? ''}__`
    if (spec.listener === 'stdio') return this.#pipe(label, args, prefix)
    const { pid, found } = await children.start(args, listeningIn)
    return { label, target: { url: found }, pid, prefix }
  }

  async #pipe(label: Label, args: readonly string[], prefix: string): Promise<Subject> {
    const name = `${label} ${++this.#count}`
    const pid = await this.#options.load.start(name, args)
    return { label, target: { process: name }, pid: label === 'direct' ? undefined : pid, prefix }
  }
}

const LABELS: Readonly<Record<Plugins, Label>> = { none: 'gateway, 0 plugins', eight: 'gateway, 8 plugins' }

function direct(url: string): Subject {
  return { label: 'direct', target: { url }, pid: undefined, prefix: '' }
}

function urlIn(output: string): string | undefined {
  return /^(http:\/\/\S+)\n/m.exec(output)?.[1]
}

/** The ready line of `serve` on a pipe is JSON. */
export function listeningIn(output: string): string | undefined {
  return /"message":"listening".*?"url":"([^"]+)"/.exec(output)?.[1]
}
