import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject, PluginApi } from '../../src/plugin.ts'
import { clientSide as openClientSide } from './contain/client-side.ts'
import { Roots } from './contain/paths.ts'
import { decide } from './contain/permissions.ts'
import { cleanText } from './contain/text.ts'
import { Worktrees } from './contain/worktree.ts'
import type { AgentSettings, AgentsConfig } from './settings-ports.ts'
import type { ClientSide, Containment } from './work-ports.ts'

/** Most of a diff that is kept with a task; the branch has all of it. */
const MAX_DIFF = 4 * 1024 * 1024
const FILES = ['fs/read_text_file', 'fs/write_text_file'] as const
const TERMINALS = ['create', 'output', 'wait_for_exit', 'kill', 'release'].map(verb => `terminal/${verb}`)

type Api = Pick<PluginApi, 'directory' | 'programs' | 'clock' | 'state'>

/** The bounds on agents, as the desk needs them, for one configuration. */
export function containmentFor({ roots: names }: AgentsConfig, api: Api): Containment {
  const { directory } = api
  let roots: Promise<Roots> | undefined
  const rootsNow = (): Promise<Roots> => (roots ??= Roots.of(names, directory).catch(forget))
  const forget = (error: unknown): never => {
    // What is not there yet may be there for the next task.
    roots = undefined
    throw error
  }
  const folder = worktreesIn(api.state)
  return {
    async resolve({ cwd: wanted, files: named }) {
      const known = await rootsNow()
      const cwd = wanted === undefined ? known.first : await known.directory(wanted)
      return { cwd, files: await Promise.all(named.map(file => known.file(file, cwd))) }
    },
    async decide(call, policy, cwd) {
      const { do: verdict, rule } = await decide(policy, { call, options: [] }, { cwd, directory })
      return { do: verdict, by: rule }
    },
    clientSide: (settings, cwd, files) => lazyClientSide(settings, { cwd, files }, api),
    async worktree(task, cwd) {
      const worktrees = new Worktrees(api.programs, await folder())
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
        // What has changed stays for whoever takes it over; without a change it has gone already.
        close: () => Promise.resolve(),
      }
    },
    prune: async isKept => new Worktrees(api.programs, await folder()).prune({ has: isKept }),
    clean: cleanText,
  }
}

/** What is off is absent; what is on is made when the agent asks for it first. */
function lazyClientSide(
  settings: AgentSettings,
  { cwd, files }: { readonly cwd: string; readonly files: readonly string[] },
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
    (opened ??= openClientSide({ settings, directory: cwd, files, programs, clock }))
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

/** Where worktrees are; in a temporary place where nothing outlives this process. */
function worktreesIn(state: string | undefined): () => Promise<string> {
  let made: Promise<string> | undefined
  return () =>
    (made ??=
      state === undefined
        ? mkdtemp(join(tmpdir(), 'tapgate-worktrees-'))
        : Promise.resolve(join(state, 'worktrees')))
}
