import path from 'node:path'
import { realpath } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { AskReply, Call, Clock, Session, UpstreamContext } from '../api/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { findMissingCapabilities, normalizeCapabilities } from '../protocol/era/capabilities.ts'
import { isObject } from '../protocol/json/json.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import { resultWithin } from '../util/clock.ts'

/** Timeout for a client's root list. */
const MAX_ROOTS_MS = 10_000
const ROOTS = { method: 'roots/list', params: undefined }
/** Limit for cached session projects. */
const MAX_KNOWN = 10_000

/** Client working directories: the first root, if it is in an allowed directory. */
export class ProjectDirectories {
  /** Default for clients without roots. */
  readonly fallback: string
  readonly #upstream: string
  readonly #clock: Clock
  readonly #allowed: readonly string[]
  /** By session id; pending until the client has sent its roots. */
  readonly #projects = new BoundedMap<string, { readonly pending: Promise<string>; known?: string }>({ max: MAX_KNOWN })

  constructor({ name, clock, directory }: UpstreamContext, allowed: readonly string[] | undefined) {
    this.fallback = path.resolve('.')
    this.#upstream = name
    this.#clock = clock
    this.#allowed = allowed?.map(one => path.resolve(directory, one)) ?? [this.fallback]
  }

  getKnown({ id }: Session): string | undefined {
    return this.#projects.get(id)?.known
  }

  /**
   * Returns the call session's project; requests roots once. Rejects with a GatewayError if the directory is not
   * allowed.
   */
  getProject(call: Call): Promise<string> {
    const { id } = call.exchange.session
    const known = this.#projects.get(id)
    if (known !== undefined) return known.pending
    const project: { readonly pending: Promise<string>; known?: string } = { pending: this.#findProject(call) }
    this.#projects.set(id, project)
    void project.pending.then(
      found => (project.known = found),
      () => undefined,
    )
    return project.pending
  }

  sessionEnded({ id }: Session): void {
    this.#projects.delete(id)
  }

  async #findProject(call: Call): Promise<string> {
    const root = await this.#fetchFirstRoot(call)
    return root === undefined ? this.fallback : this.#checkAllowed(root)
  }

  async #fetchFirstRoot({ exchange }: Call): Promise<string | undefined> {
    const { client } = exchange.session
    // A modern HTTP request is its own session and would need the roots each time.
    const isAlone = client.era === 'modern' && exchange.via === 'http'
    if (isAlone || findMissingCapabilities(normalizeCapabilities(client), ROOTS.method, undefined) !== undefined)
      return exchange.session.directory
    return (
      parseFirstRoot(await resultWithin(this.#clock, MAX_ROOTS_MS, exchange.ask(ROOTS))) ?? exchange.session.directory
    )
  }

  async #checkAllowed(root: string): Promise<string> {
    const real = await realpath(root).catch(() => undefined)
    if (real === undefined) throw this.#createRefusal(`project ${root} of the client is not on this machine`)
    for (const allowed of this.#allowed) {
      const relativePath = path.relative(await realpath(allowed).catch(() => allowed), real)
      if (relativePath !== '..' && !relativePath.startsWith(`..${path.sep}`) && !path.isAbsolute(relativePath))
        return real
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
