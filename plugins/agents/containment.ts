import { lstat, mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { makeDirectory, type PluginApi } from '../../src/plugin.ts'
import { Roots, wrongPath } from './paths.ts'
import { decide } from './permissions.ts'
import { Worktrees } from './worktree.ts'
import type { AgentsConfig } from './settings.ts'
import type { Containment, Worktree } from './types.ts'

/** Name of a scratch directory: random, so that it cannot be guessed. */
const NAME = /^[0-9a-f]{32}$/

/** Younger directories may belong to a task that is about to be written down. */
const YOUNG_MS = 10 * 60_000

const HINT = 'cannot be named: agents.roots says no directory'

/** Most of a diff that is kept with a task; the branch has all of it. */
const MAX_DIFF = 4 * 1024 * 1024

/** The bounds on agents, as the task service needs them, for one configuration. */
export function containmentFor(
  { roots }: AgentsConfig,
  { directory, programs, state }: Pick<PluginApi, 'directory' | 'programs' | 'state'>,
): Containment {
  const scratch = new Scratch(folderOf(state, 'scratch'))
  const folder = folderOf(state, 'worktrees')
  return {
    async resolve({ cwd: wanted, files: named }) {
      if (roots === undefined) return { cwd: await scratch.directory(wanted, named), files: [] }
      const known = new Roots(roots, directory)
      const cwd = wanted === undefined ? known.first : await known.directory(wanted)
      return { cwd, files: await Promise.all(named.map(file => known.file(file, cwd))) }
    },
    decide: (call, policy, cwd) => decide(policy, call, { cwd, directory }),
    worktree: async (task, cwd) => openWorktree(new Worktrees(programs, await folder()), task, cwd),
    async prune(isKept) {
      await scratch.prune(isKept)
      return new Worktrees(programs, await folder()).prune({ has: isKept })
    },
  }
}

async function openWorktree(worktrees: Worktrees, task: string, cwd: string): Promise<Worktree> {
  const worktree = (await worktrees.resume(cwd, task)) ?? (await worktrees.begin(cwd, task))
  return {
    cwd: worktree.directory,
    warnings: worktree.warnings,
    async changes() {
      const { diff, filesChanged, truncated, bytesTotal, kept } = await worktree.finish(MAX_DIFF)
      const where = kept === undefined ? '' : `# on branch ${kept.branch}, in ${kept.directory}\n`
      const cut = truncated ? `\n# cut: ${bytesTotal} bytes in all\n` : ''
      return { diff: where + diff + cut, files: filesChanged }
    },
  }
}

/** A folder of the state directory; a temporary one if nothing outlives this process. */
function folderOf(state: string | undefined, name: string): () => Promise<string> {
  let made: Promise<string> | undefined
  return () =>
    (made ??=
      state === undefined ? mkdtemp(join(tmpdir(), `tapgate-${name}-`)) : Promise.resolve(join(state, name)))
}

/** The directories of tasks without `roots`: each is empty at first, and of one task and those that go on with it. */
export class Scratch {
  readonly #folder: () => Promise<string>

  constructor(folder: () => Promise<string>) {
    this.#folder = folder
  }

  /** A new one, or the one that an earlier task had. @throws GatewayError GW_AGENT_PATH for any other directory, and for files */
  async directory(cwd: string | undefined, files: readonly string[]): Promise<string> {
    if (files[0] !== undefined) throw wrongPath('file', files[0], HINT)
    await makeDirectory(await this.#folder(), 0o700)
    const folder = await realpath(await this.#folder())
    if (cwd === undefined) {
      const made = join(folder, randomBytes(16).toString('hex'))
      await mkdir(made, { mode: 0o700 })
      return made
    }
    const isOne = dirname(cwd) === folder && NAME.test(basename(cwd))
    const stats = isOne ? await lstat(cwd).catch(() => undefined) : undefined
    if (stats?.isDirectory() !== true) throw wrongPath('cwd', cwd, HINT)
    return cwd
  }

  /** Removes those of tasks that are kept no more. */
  async prune(isKept: (name: string) => boolean): Promise<void> {
    const folder = await this.#folder()
    for (const name of await readdir(folder).catch(() => [])) {
      const stats = await lstat(join(folder, name)).catch(() => undefined)
      const isOld = stats !== undefined && Date.now() - stats.ctimeMs > YOUNG_MS
      if (isOld && NAME.test(name) && !isKept(name))
        await rm(join(folder, name), { recursive: true, force: true })
    }
  }
}
