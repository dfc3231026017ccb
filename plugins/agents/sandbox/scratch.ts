import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readdir, realpath, rm } from 'node:fs/promises'
import path from 'node:path'
import { wrongPath } from './paths.ts'

/** Nobody finds one by guessing. */
const NAME = /^[0-9a-f]{32}$/
/** What is younger may belong to a task that is about to be written down. */
const YOUNG_MS = 10 * 60_000
const HINT = 'cannot be named: agents.roots says no directory'

/** The directories of tasks where no root is configured: each is empty at first, and of one task and those that go on with it. */
export class Scratch {
  readonly #folder: () => Promise<string>

  constructor(folder: () => Promise<string>) {
    this.#folder = folder
  }

  /** A new one, or the one that an earlier task had. @throws GatewayError GW_AGENT_PATH for any other directory, and for files */
  async directory(cwd: string | undefined, files: readonly string[]): Promise<string> {
    if (files.length > 0) throw wrongPath('file', files[0], HINT)
    const folder = await this.#made()
    if (cwd === undefined) {
      const made = path.join(folder, randomBytes(16).toString('hex'))
      await mkdir(made, { mode: 0o700 })
      return made
    }
    const isOne = path.dirname(cwd) === folder && NAME.test(path.basename(cwd))
    const stats = isOne ? await lstat(cwd).catch(() => undefined) : undefined
    if (stats?.isDirectory() !== true) throw wrongPath('cwd', cwd, HINT)
    return cwd
  }

  /** Removes those of tasks that are kept no more. */
  async prune(isKept: (name: string) => boolean): Promise<void> {
    const folder = await this.#folder()
    const names = await readdir(folder).catch(() => [])
    for (const name of names) {
      const stats = await lstat(path.join(folder, name)).catch(() => undefined)
      const isOld = stats !== undefined && Date.now() - stats.ctimeMs > YOUNG_MS
      if (isOld && NAME.test(name) && !isKept(name))
        await rm(path.join(folder, name), { recursive: true, force: true })
    }
  }

  async #made(): Promise<string> {
    const folder = await this.#folder()
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return realpath(folder)
  }
}
