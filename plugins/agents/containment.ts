import { randomBytes } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { basename, dirname, join } from 'node:path'
import type { PluginApi } from '../../src/plugin.ts'
import { getErrorMessage, makeDirectorySync } from '../../src/plugin.ts'
import { agentError } from './errors.ts'
import { isWithin, resolveRealPath, Roots, createPathError } from './allowed-paths.ts'
import { decidePermission } from './permissions.ts'
import type { AgentsConfig, PermissionPolicy } from './settings.ts'
import { cleanLine, cleanText } from './store/task-journal.ts'
import type { AgentToolCall, PermissionVerdict } from './types.ts'

const MAX_WORDS = 4096

const TIMEOUT_MS = 120_000

/** Prevents git from running configured programs, prompting, or accessing the network. */
const CAREFUL = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.attributesFile': '/dev/null',
  'diff.ignoreSubmodules': 'all',
  'submodule.recurse': 'false',
  'commit.gpgSign': 'false',
  'protocol.allow': 'never',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'advice.detachedHead': 'false',
  'user.name': 'tapgate',
  'user.email': 'tapgate@localhost',
}

const VARIABLES = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/false',
  GIT_EDITOR: '/bin/false',
  GIT_PAGER: 'cat',
  GIT_OPTIONAL_LOCKS: '0',
  LC_ALL: 'C',
}

const TASK = /^[A-Za-z0-9_-]{1,128}$/

const MAX_NAMES = 1024 * 1024

/** Metadata stored next to a worktree, because its content is untrusted. */
interface WorktreeRecord {
  readonly task: string
  /** Repository top directory. */
  readonly repository: string
  /** The worktree's git directory. */
  readonly gitDirectory: string
  /** Commit that the worktree was created from. */
  readonly base: string
  readonly branch: string
  /** The worktree's top directory. */
  readonly top: string
}

/** A git worktree for one task. */
export interface Worktree {
  /** Working directory: corresponds to the requested directory in the repository. */
  readonly cwd: string
  /** Missing parts, such as submodules. */
  readonly warnings: readonly string[]
  /**
   * Returns the unified diff, including new files, and the changed paths. Removes the worktree and its branch if
   * nothing changed.
   */
  changes(): Promise<{ readonly diff: string; readonly files: readonly string[] }>
}

/** Size limit for a stored diff; the branch contains everything. */
const MAX_DIFF = 4 * 1024 * 1024

/** Task worktrees in one folder. */
export class Worktrees {
  readonly #programs: PluginApi['programs']
  readonly #folder: string

  /** `folder` is created on first use. */
  constructor(programs: PluginApi['programs'], folder: string) {
    this.#programs = programs
    this.#folder = folder
  }

  /**
   * Opens the task's existing worktree, or creates one on a new branch `tapgate/<task>` at the current commit.
   * @throws GatewayError GW_AGENT_WORKTREE
   */
  async open(cwd: string, task: string): Promise<Worktree> {
    try {
      if (!TASK.test(task)) throw new Error('invalid task id')
      const record = await this.#readRecord(task)
      return record === undefined ? await this.#createWorktree(cwd, task) : await this.#buildWorktree(record, cwd, [])
    } catch (cause) {
      throw agentError('GW_AGENT_WORKTREE', { directory: cwd, why: getErrorMessage(cause), cause })
    }
  }

  /**
   * Removes worktrees without a stored task and returns their tasks. Commits changes to the branch, which remains.
   */
  async prune(isKept: (task: string) => boolean): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => [])
    const tasks = names.filter(name => name.endsWith('.json')).map(name => name.slice(0, -5))
    const orphaned = tasks.filter(task => TASK.test(task) && !isKept(task))
    const pruned: string[] = []
    for (const task of orphaned) if (await this.#saveChanges(task)) pruned.push(task)
    return pruned
  }

  async #createWorktree(cwd: string, task: string): Promise<Worktree> {
    const git = new Git(this.#programs, cwd)
    const repository = await git.readOutput('rev-parse', '--show-toplevel')
    const base = await git.readOutput('rev-parse', '--verify', 'HEAD^{commit}').catch(() => undefined)
    if (base === undefined) throw new Error('the repository has no commits')
    const branch = `tapgate/${task}`
    makeDirectorySync(this.#folder, 0o700)
    const top = path.join(await realpath(this.#folder), task)
    await git.readOutput('worktree', 'add', '--quiet', '--no-track', '-b', branch, top, base)
    const gitDirectory = await new Git(this.#programs, top).readOutput('rev-parse', '--absolute-git-dir')
    const record = { task, repository, gitDirectory, base, branch, top }
    await writeFile(this.#getRecordPath(task), JSON.stringify(record), { mode: 0o600 })
    return this.#buildWorktree(record, cwd, await findWarnings(git))
  }

  async #buildWorktree(record: WorktreeRecord, cwd: string, warnings: readonly string[]): Promise<Worktree> {
    const changes = async () => {
      const { diff, total, files, isChanged } = await this.#readChanges(record, MAX_DIFF)
      if (!isChanged) await this.#removeWorktree(record, true)
      const header = isChanged ? `# on branch ${record.branch}, in ${record.top}\n` : ''
      const cut = total > MAX_DIFF ? `\n# truncated: ${total} bytes in total\n` : ''
      return { diff: header + diff + cut, files }
    }
    return { cwd: await this.#resolveSubdirectory(record, cwd), warnings, changes }
  }

  /** Passes git directories explicitly, because an agent may have manipulated the worktree. */
  #openGit({ gitDirectory, top }: WorktreeRecord): Git {
    return new Git(this.#programs, top, [`--git-dir=${gitDirectory}`, `--work-tree=${top}`])
  }

  async #readChanges(record: WorktreeRecord, maxDiff: number) {
    const git = this.#openGit(record)
    const { base, branch, top: directory } = record
    try {
      await git.readOutput('add', '--all', '--', '.')
      const names = await git.run(['diff', ...PLAIN, '--name-only', '-z', base], MAX_NAMES)
      const diff = await git.run(['diff', ...PLAIN, base], maxDiff)
      if (!names.ok || !diff.ok) throw new Error(names.ok ? diff.why : names.why)
      return {
        diff: cleanText(diff.bytes.toString()),
        total: diff.total,
        files: cleanText(names.bytes.toString().replaceAll('\0', '\n')).split('\n').filter(Boolean),
        isChanged: names.total > 0 || (await git.readOutput('rev-parse', branch)) !== base,
      }
    } catch (cause) {
      throw agentError('GW_AGENT_WORKTREE', { directory, why: getErrorMessage(cause), cause })
    }
  }

  /** Returns false if saving failed; the worktree then remains. */
  async #saveChanges(task: string): Promise<boolean> {
    const record = await this.#readRecord(task)
    if (record === undefined) return false
    const changes = await this.#readChanges(record, 0).catch(() => undefined)
    if (changes === undefined) return false
    const git = this.#openGit(record)
    if (changes.files.length > 0) {
      const done = await git.run(['commit', '--quiet', '--no-verify', '--allow-empty', '-m', `Task ${task}`])
      if (!done.ok) return false
    }
    await this.#removeWorktree(record, !changes.isChanged)
    return true
  }

  async #removeWorktree({ repository, top, branch, task }: WorktreeRecord, withBranch: boolean): Promise<void> {
    const git = new Git(this.#programs, repository)
    await rm(top, { recursive: true, force: true })
    await git.run(['worktree', 'prune'])
    if (withBranch) await git.run(['branch', '--quiet', '-D', branch])
    await rm(this.#getRecordPath(task), { force: true })
  }

  /** Resolves links inside the worktree, so that they cannot lead outside. */
  async #resolveSubdirectory({ repository, top }: WorktreeRecord, cwd: string): Promise<string> {
    const directory = path.join(top, path.relative(await realpath(repository), cwd))
    const real = resolveRealPath(directory)
    if (!isWithin(top, real)) throw new Error('a symlink leads outside the worktree')
    makeDirectorySync(real)
    return real
  }

  async #readRecord(task: string): Promise<WorktreeRecord | undefined> {
    if (!TASK.test(task)) return undefined
    try {
      return JSON.parse(await readFile(this.#getRecordPath(task), 'utf8')) as WorktreeRecord
    } catch {
      return undefined
    }
  }

  #getRecordPath(task: string): string {
    return path.join(this.#folder, `${task}.json`)
  }
}

/** Disables external diff programs and pins output settings. */
const PLAIN = ['--cached', '--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--ignore-submodules=all']

/** Finds content that the worktree does not contain. */
async function findWarnings(git: Git): Promise<string[]> {
  const [status, index] = await Promise.all([
    git.run(['status', '--porcelain', '--ignore-submodules=all'], 1),
    git.run(['ls-files', '--stage', '--', ':/'], MAX_NAMES),
  ])
  return [
    ...(status.total > 0 ? ['the worktree does not contain uncommitted changes'] : []),
    ...(/^160000 /m.test(index.bytes.toString()) ? ['submodules are empty in the worktree'] : []),
  ]
}

interface GitAnswer {
  readonly ok: boolean
  /** First stdout bytes. */
  readonly bytes: Buffer
  /** Total stdout size in bytes. */
  readonly total: number
  /** Failure reason on one line. */
  readonly why: string
}

/** Runs git in one directory. */
class Git {
  readonly #programs: PluginApi['programs']
  readonly #cwd: string
  readonly #before: readonly string[]

  /** `before`: global arguments such as `--git-dir`. */
  constructor(programs: PluginApi['programs'], cwd: string, before: readonly string[] = []) {
    this.#programs = programs
    this.#cwd = cwd
    this.#before = before
  }

  /** Runs git and keeps at most `most` bytes. Never rejects if git fails. */
  async run(args: readonly string[], maxBytes = 1024 * 1024): Promise<GitAnswer> {
    const settings = Object.entries(CAREFUL).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const gathered = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
    const sizes = { stdout: 0, stderr: 0 }
    const max = { stdout: maxBytes, stderr: MAX_WORDS }
    const result = Promise.withResolvers<{ why: string; code: number | null | undefined }>()
    const program = await this.#programs.launch({
      name: 'git',
      command: 'git',
      args: [...settings, ...this.#before, ...args],
      cwd: this.#cwd,
      env: { ...this.#programs.createEnvironment(['PATH'], {}), ...VARIABLES },
      maxLine: 0,
      onLine: () => undefined,
      onOutput(chunk, from) {
        const remaining = max[from] - sizes[from]
        if (remaining > 0) gathered[from].push(chunk.subarray(0, remaining))
        sizes[from] += chunk.length
      },
      onEnd: (why, exit) => result.resolve({ why, code: exit?.code }),
    })
    const timer = setTimeout(() => void program.stop(), TIMEOUT_MS).unref()
    const { why, code } = await result.promise.finally(() => clearTimeout(timer))
    const stderrText = cleanLine(Buffer.concat(gathered.stderr).toString(), 400).trim()
    const bytes = Buffer.concat(gathered.stdout)
    return { ok: code === 0, bytes, total: sizes.stdout, why: stderrText === '' ? why : stderrText }
  }

  /** Returns stdout without the line end. @throws Error with git's message */
  async readOutput(...args: readonly string[]): Promise<string> {
    const { ok, bytes, why: reason } = await this.run(args)
    if (!ok) throw new Error(reason)
    return bytes.toString().replace(/\n$/, '')
  }
}

/** Scratch directory name: random, so that it cannot be guessed. */
const NAME = /^[0-9a-f]{32}$/

/** Younger directories may belong to a task that is not stored yet. */
const YOUNG_MS = 10 * 60_000

const HINT = 'not allowed: agents.roots is not configured'

export type Containment = ReturnType<typeof createContainment>

/** Creates the containment checks for one configuration. */
export function createContainment(
  { roots }: AgentsConfig,
  { directory, programs, state }: Pick<PluginApi, 'directory' | 'programs' | 'state'>,
) {
  const scratch = new ScratchDirectories(createFolderResolver(state, 'scratch'))
  const folder = createFolderResolver(state, 'worktrees')
  return {
    /**
     * Resolves a task's directory and files to real paths below the roots; the default is the first root. Without
     * roots, a task gets an empty directory and cannot name paths. @throws GatewayError GW_AGENT_PATH
     */
    async resolve(
      cwd: string | undefined,
      files: readonly string[],
    ): Promise<{ readonly cwd: string; readonly files: readonly string[] }> {
      if (roots === undefined) return { cwd: await scratch.openDirectory(cwd, files), files: [] }
      const allowedRoots = new Roots(roots, directory)
      const real = cwd === undefined ? allowedRoots.first : await allowedRoots.resolveDirectory(cwd)
      return { cwd: real, files: await Promise.all(files.map(file => allowedRoots.resolveFile(file, real))) }
    },
    /** Applies the permission policy to a tool call in `cwd`. */
    decide: (call: AgentToolCall, policy: PermissionPolicy, cwd: string): PermissionVerdict =>
      decidePermission(policy, call, { cwd, directory }),
    worktree: async (task: string, cwd: string): Promise<Worktree> =>
      new Worktrees(programs, await folder()).open(cwd, task),
    /** Removes worktrees and directories without a stored task; worktree changes remain on their branches. */
    async prune(isKept: (name: string) => boolean): Promise<readonly string[]> {
      await scratch.prune(isKept)
      return new Worktrees(programs, await folder()).prune(isKept)
    },
  }
}

/** Returns a folder in the state directory; temporary without persistent state. */
function createFolderResolver(state: string | undefined, name: string): () => Promise<string> {
  let made: Promise<string> | undefined
  return () =>
    (made ??= state === undefined ? mkdtemp(join(tmpdir(), `tapgate-${name}-`)) : Promise.resolve(join(state, name)))
}

/** Empty directories for tasks without `roots`, shared by a task and its continuations. */
export class ScratchDirectories {
  readonly #folder: () => Promise<string>

  constructor(folder: () => Promise<string>) {
    this.#folder = folder
  }

  /**
   * Creates a directory or reopens an earlier task's. @throws GatewayError GW_AGENT_PATH for other directories and
   * for files
   */
  async openDirectory(cwd: string | undefined, files: readonly string[]): Promise<string> {
    if (files[0] !== undefined) throw createPathError('file', files[0], HINT)
    makeDirectorySync(await this.#folder(), 0o700)
    const folder = await realpath(await this.#folder())
    if (cwd === undefined) {
      const made = join(folder, randomBytes(16).toString('hex'))
      await mkdir(made, { mode: 0o700 })
      return made
    }
    const isOne = dirname(cwd) === folder && NAME.test(basename(cwd))
    const stats = isOne ? await lstat(cwd).catch(() => undefined) : undefined
    if (stats?.isDirectory() !== true) throw createPathError('cwd', cwd, HINT)
    return cwd
  }

  /** Removes directories without a stored task. */
  async prune(isKept: (name: string) => boolean): Promise<void> {
    const folder = await this.#folder()
    for (const name of await readdir(folder).catch(() => [])) {
      const stats = await lstat(join(folder, name)).catch(() => undefined)
      const isOld = stats !== undefined && Date.now() - stats.ctimeMs > YOUNG_MS
      if (isOld && NAME.test(name) && !isKept(name)) await rm(join(folder, name), { recursive: true, force: true })
    }
  }
}
