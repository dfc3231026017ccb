import { lstat, mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import type { JsonObject, PluginApi } from '../../src/plugin.ts'
import { clientSide as openClientSide } from './sandbox/client-side.ts'
import { Roots, wrongPath } from './sandbox/paths.ts'
import { decide } from './permissions/rules.ts'
import { Protected } from './sandbox/gateway-files.ts'
import { cleanText } from './sandbox/text.ts'
import { Worktrees } from './sandbox/worktree.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'
import type { ClientSide, Containment, Worktree } from './types/agent.ts'
import { makeDirectory } from '../../src/plugin.ts'

/** Name of a scratch directory: random, so that it cannot be guessed. */
const NAME = /^[0-9a-f]{32}$/

/** Younger directories may belong to a task that is about to be written down. */
const YOUNG_MS = 10 * 60_000

const HINT = 'cannot be named: agents.roots says no directory'

/** Most of a diff that is kept with a task; the branch has all of it. */
const MAX_DIFF = 4 * 1024 * 1024

const FILES = ['fs/read_text_file', 'fs/write_text_file'] as const

const TERMINALS = ['create', 'output', 'wait_for_exit', 'kill', 'release'].map(verb => `terminal/${verb}`)

type Api = Pick<PluginApi, 'directory' | 'programs' | 'clock' | 'state' | 'config' | 'privatePlaces'>

/** The bounds on agents, as the task service needs them, for one configuration. */
export function containmentFor({ roots: names }: AgentsConfig, api: Api): Containment {
  const { directory } = api
  const own = new Protected(api)
  const scratch = new Scratch(folderOf(api.state, 'scratch'))
  let roots: Promise<Roots> | undefined
  const rootsNow = (all: readonly string[]): Promise<Roots> =>
    (roots ??= Roots.of(all, directory).catch(forget))
  const forget = (error: unknown): never => {
    // Directories that are not there yet may be there for the next task.
    roots = undefined
    throw error
  }
  const folder = folderOf(api.state, 'worktrees')
  return {
    async resolve({ cwd: wanted, files: named }) {
      if (names === undefined) return { cwd: await scratch.directory(wanted, named), files: [] }
      const known = await rootsNow(names)
      const cwd = wanted === undefined ? known.first : await known.directory(wanted)
      const files = await Promise.all(named.map(file => known.file(file, cwd)))
      refuseOwn(own, cwd, files)
      return { cwd, files }
    },
    async decide(call, policy, cwd) {
      const { do: verdict, rule } = await decide(policy, { call, options: [] }, { cwd, directory })
      return { do: verdict, by: rule }
    },
    clientSide: (settings, cwd, files) => lazyClientSide(settings, { cwd, files, own }, api),
    worktree: async (task, cwd) => worktreeOf(new Worktrees(api.programs, await folder()), task, cwd),
    async prune(isKept) {
      await scratch.prune(isKept)
      return new Worktrees(api.programs, await folder()).prune({ has: isKept })
    },
    clean: cleanText,
  }
}

async function worktreeOf(worktrees: Worktrees, task: string, cwd: string): Promise<Worktree> {
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
    // Changes stay for whoever takes them over; a worktree without changes has gone already.
    close: () => Promise.resolve(),
  }
}

/** Handlers of one session: those that are off are absent, the others are made when the agent first needs one. */
function lazyClientSide(
  settings: AgentSettings,
  { cwd, files, own }: { readonly cwd: string; readonly files: readonly string[]; readonly own: Protected },
  { programs, clock }: Api,
): ClientSide {
  const { readFiles, writeFiles, terminal } = settings.client
  const on = [
    ...(readFiles ? [FILES[0]] : []),
    ...(writeFiles ? [FILES[1]] : []),
    ...(terminal === undefined ? [] : TERMINALS),
  ]
  let opened: ReturnType<typeof openClientSide> | undefined
  const open = (): ReturnType<typeof openClientSide> =>
    (opened ??= openClientSide({ settings, directory: cwd, files, programs, clock, own }))
  const handler = (method: string) => async (params: JsonObject, signal?: AbortSignal) => {
    const handle = (await open()).handlers.get(method)
    if (handle === undefined) throw new Error(`${method} is not served`)
    return handle(params, signal)
  }
  return {
    handlers: new Map(on.map(method => [method, handler(method)])),
    close: async () => (await opened?.catch(() => undefined))?.dispose(),
  }
}

/** No task works among the gateway's own files, or is given one of them. */
function refuseOwn(own: Protected, cwd: string, files: readonly string[]): void {
  const why = own.whyNot(cwd, 'write')
  if (why !== undefined) throw wrongPath('cwd', cwd, why)
  for (const file of files) {
    const whyFile = own.whyNot(file, 'read')
    if (whyFile !== undefined) throw wrongPath('file', file, whyFile)
  }
}

/** A folder of the state directory; a temporary one where nothing outlives this process. */
function folderOf(state: string | undefined, name: string): () => Promise<string> {
  let made: Promise<string> | undefined
  return () =>
    (made ??=
      state === undefined ? mkdtemp(join(tmpdir(), `tapgate-${name}-`)) : Promise.resolve(join(state, name)))
}

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
    await makeDirectory(folder, 0o700)
    return realpath(folder)
  }
}
