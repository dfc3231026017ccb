import { benchFile } from './setup/children.ts'
import { groups, stdioUpstream } from './setup/gateways.ts'
import { hasNginx } from './setup/nginx.ts'
import type { Rivals } from './rivals.ts'
import { direct, type Subject, type Workshop } from './setup/workshop.ts'

/** All that stands where, for one kind of work. */
export type Wiring = 'http-http' | 'http-http-modern' | 'http-stdio' | 'stdio-stdio' | 'stdio-http' | 'lists'

type End = 'http' | 'stdio'

/** Starts what is measured, each wiring when it is first asked for. */
export class Lab {
  readonly #workshop: Workshop
  readonly #rivals: Rivals | undefined
  readonly #wirings = new Map<Wiring, Promise<readonly Subject[]>>()

  constructor(workshop: Workshop, rivals: Rivals | undefined) {
    this.#workshop = workshop
    this.#rivals = rivals
  }

  subjects(wiring: Wiring): Promise<readonly Subject[]> {
    let subjects = this.#wirings.get(wiring)
    if (subjects === undefined) {
      subjects = this.#withRivals(wiring)
      this.#wirings.set(wiring, subjects)
    }
    return subjects
  }

  async #withRivals(wiring: Wiring): Promise<readonly Subject[]> {
    const url = await this.#workshop.serverUrl()
    const rivals = (await this.#rivals?.subjects(wiring, this.#workshop)) ?? []
    return [...(await this.#make(wiring, url)), ...rivals]
  }

  async #make(wiring: Wiring, url: string): Promise<readonly Subject[]> {
    if (wiring === 'lists') return this.#lists(url)
    const [from, to] = wiring.split('-') as [End, End]
    return to === 'http' ? this.#toHttp(from, url, wiring) : this.#toStdio(from)
  }

  async #toHttp(listener: End, url: string, wiring: Wiring): Promise<readonly Subject[]> {
    const era = wiring === 'http-http-modern' ? 'modern' : 'legacy'
    const upstreams = { up: { type: 'http', url, era } } as const
    return Promise.all([
      Promise.resolve(direct(url)),
      this.#workshop.raw(listener, 'http', [url]),
      ...(listener === 'http' && hasNginx() ? [this.#workshop.nginx(url)] : []),
      this.#workshop.gateway({ listener, upstreams, plugins: 'none' }),
      this.#workshop.gateway({ listener, upstreams, plugins: 'all' }),
    ])
  }

  async #toStdio(listener: End): Promise<readonly Subject[]> {
    const server = [benchFile('peers/server-stdio.ts')]
    const upstreams = { up: stdioUpstream() }
    return Promise.all([
      this.#workshop.pipe('direct', server, ''),
      this.#workshop.raw(listener, 'stdio', server),
      this.#workshop.gateway({ listener, upstreams, plugins: 'none' }),
      this.#workshop.gateway({ listener, upstreams, plugins: 'all' }),
    ])
  }

  /** A thousand tools: of one server, or of ten behind a gateway. */
  async #lists(url: string): Promise<readonly Subject[]> {
    const upstreams = groups(url, 10, 100)
    const whole = `${url}/1000/all_`
    return Promise.all([
      Promise.resolve(direct(whole)),
      this.#workshop.raw('http', 'http', [whole]),
      ...(hasNginx() ? [this.#workshop.nginx(whole)] : []),
      this.#workshop.gateway({ listener: 'http', upstreams, plugins: 'none' }),
      this.#workshop.gateway({ listener: 'http', upstreams, plugins: 'all' }),
    ])
  }
}
