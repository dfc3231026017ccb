import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** The HOME of one agent: nobody else's, and kept where anything is kept. */
export class AgentHome {
  readonly #kept: string | undefined
  #made: Promise<string> | undefined

  /** `state` is the directory of the plugin; without one the HOME is temporary. */
  constructor(state: string | undefined, agent: string) {
    this.#kept = state === undefined ? undefined : path.join(state, 'homes', agent)
  }

  /** Its path; the directory is there then, for its owner only. */
  directory(): Promise<string> {
    this.#made ??= this.#make()
    return this.#made
  }

  async #make(): Promise<string> {
    if (this.#kept === undefined) return realpath(await mkdtemp(path.join(tmpdir(), 'tapgate-agent-')))
    await mkdir(this.#kept, { recursive: true, mode: 0o700 })
    await chmod(this.#kept, 0o700)
    return realpath(this.#kept)
  }

  /** A temporary one is removed. */
  async leave(): Promise<void> {
    if (this.#kept !== undefined || this.#made === undefined) return
    const made = await this.#made.catch(() => undefined)
    this.#made = undefined
    if (made !== undefined) await rm(made, { recursive: true, force: true }).catch(() => undefined)
  }
}
