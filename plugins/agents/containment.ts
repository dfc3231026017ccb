import { lstat, mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { makeDirectory, type PluginApi } from '../../src/plugin.ts'
import { Roots, wrongPath } from './paths.ts'
import { decide } from './permissions.ts'
import { type Worktree, Worktrees } from './worktree.ts'
import type { AgentsConfig } from './settings.ts'
import type { AgentToolCall, Verdict } from './types.ts'
import type { PermissionPolicy } from './settings.ts'

/** Name of a scratch directory: random, so that it cannot be guessed. */
const NAME = /^[0-9a-f]{32}$/

/** Younger directories may belong to a task that is about to be written down. */
const YOUNG_MS = 10 * 60_000

const HINT = 'cannot be named: agents.roots says no directory'

export type Containment = ReturnType<typeof containmentFor>

/** The bounds on agents, as the task service needs them, for one configuration. */
export function containmentFor(
  { roots }: AgentsConfig,
  { directory, programs, state }: Pick<PluginApi, 'directory' | 'programs' | 'state'>,
) {
  const scratch = new Scratch(folderOf(state, 'scratch'))
  const folder = folderOf(state, 'worktrees')
  return {
    /**
     * The directory of a task, and the files it is given, as real paths below the roots; the first root where none is named.
     * Without roots, a task has an empty directory of its own, and may name nothing else. @throws GatewayError GW_AGENT_PATH
     */
    async resolve(
      cwd: string | undefined,
      files: readonly string[],
    ): Promise<{ readonly cwd: string; readonly files: readonly string[] }> {
      if (roots === undefined) return { cwd: await scratch.directory(cwd, files), files: [] }
      const known = new Roots(roots, directory)
      const real = cwd === undefined ? known.first : await known.directory(cwd)
      return { cwd: real, files: await Promise.all(files.map(file => known.file(file, real))) }
    },
    /** Decides by policy on a tool call of an agent that works in `cwd`. */
    decide: (call: AgentToolCall, policy: PermissionPolicy, cwd: string): Verdict =>
      decide(policy, call, { cwd, directory }),
    worktree: async (task: string, cwd: string): Promise<Worktree> =>
      new Worktrees(programs, await folder()).open(cwd, task),
    /** Removes the worktrees and directories of tasks that are not kept; changes of a worktree stay on its branch. */
    async prune(isKept: (name: string) => boolean): Promise<readonly string[]> {
      await scratch.prune(isKept)
      return new Worktrees(programs, await folder()).prune(isKept)
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
