import path from 'node:path'
import { realpath } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { AskReply, Call, Clock, Session, UpstreamContext } from '../api/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { findMissingCapabilities, normalizeCapabilities } from '../protocol/era/capabilities.ts'
import { isObject } from '../protocol/json/json.ts'
import { BoundedMap } from '../util/bounded-map.ts'

/** Timeout for a client's root list. */
const MAX_ROOTS_MS = 10_000
const ROOTS = { method: 'roots/list', params: undefined }
/** Limit for cached session projects. */
const MAX_KNOWN = 10_000

/** Client working directories: the first root, if it is in an allowed directory. */
export class ProjectDirectories {
  /** Default for clients without roots. */
  readonly home: string
  readonly #upstream: string
  readonly #clock: Clock
  readonly #allowed: readonly string[]
  readonly #known = new Map<string, string>()
  readonly #pending = new BoundedMap<string, Promise<string>>({
    max: MAX_KNOWN,
    onForget: id => this.#known.delete(id),
  })

  constructor({ name, clock, directory }: UpstreamContext, allowed: readonly string[] | undefined) {
    this.home = path.resolve('.')
    this.#upstream = name
    this.#clock = clock
    this.#allowed = allowed?.map(one => path.resolve(directory, one)) ?? [this.home]
  }

  getKnown({ id }: Session): string | undefined {
    return this.#known.get(id)
  }

  /**
   * Returns the call session's project; requests roots once. Rejects with a GatewayError if the directory is not
   * allowed.
   */
  getProject(call: Call): Promise<string> {
    const { id } = call.exchange.session
    const known = this.#pending.get(id)
    if (known !== undefined) return known
    const asked = this.#findProject(call)
    this.#pending.set(id, asked)
    return asked
  }

  sessionEnded({ id }: Session): void {
    this.#forgetSession(id)
  }

  #forgetSession(id: string): void {
    this.#known.delete(id)
    this.#pending.delete(id)
  }

  async #findProject(call: Call): Promise<string> {
    const root = await this.#fetchFirstRoot(call)
    const project = root === undefined ? this.home : await this.#checkAllowed(root)
    this.#known.set(call.exchange.session.id, project)
    return project
  }

  async #fetchFirstRoot({ exchange }: Call): Promise<string | undefined> {
    const { client } = exchange.session
    // A modern HTTP request is its own session and would need the roots each time.
    const isAlone = client.era === 'modern' && exchange.via === 'http'
    if (isAlone || findMissingCapabilities(normalizeCapabilities(client), ROOTS.method, undefined) !== undefined)
      return exchange.session.directory
    return parseFirstRoot(await this.#withTimeout(exchange.ask(ROOTS))) ?? exchange.session.directory
  }

  #withTimeout(asked: Promise<AskReply>): Promise<AskReply | undefined> {
    let disarm = (): void => undefined
    const late = new Promise<undefined>(resolve => {
      disarm = this.#clock.after(MAX_ROOTS_MS, () => resolve(undefined))
    })
    return Promise.race([asked.catch(() => undefined), late]).finally(() => disarm())
  }

  async #checkAllowed(root: string): Promise<string> {
    const real = await realpath(root).catch(() => undefined)
    if (real === undefined) throw this.#createRefusal(`project ${root} of the client is not on this machine`)
    for (const allowed of this.#allowed) {
      const way = path.relative(await realpath(allowed).catch(() => allowed), real)
      if (way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way)) return real
    }
    throw this.#createRefusal(
      `project ${real} of the client is not allowed; "projects" allows ${this.#allowed.join(', ')}`,
    )
  }

  #createRefusal(why: string): Error {
    return gatewayError('GW_UPSTREAM_START', { upstream: this.#upstream, why })
  }
}

/** Returns the first root if it is a file URL. */
function parseFirstRoot(reply: AskReply | undefined): string | undefined {
  const roots = reply !== undefined && 'result' in reply ? reply.result.roots : undefined
  const first: unknown = Array.isArray(roots) ? roots[0] : undefined
  if (!isObject(first) || typeof first.uri !== 'string') return undefined
  try {
    return fileURLToPath(first.uri)
  } catch {
    return undefined
  }
}
