// All that the tests of agents share: a pool of the scripted agent, and somebody who listens.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type {
  AgentFailure,
  PermissionOutcome,
  PermissionRequest,
  SessionHandler,
  SessionUpdate,
  SessionRequest,
} from '../../../../plugins/agents/types.ts'
import { LocalAgentHost, type HostDeps } from '../../../../plugins/agents/acp/agent-host.ts'
import { resolveSettings } from '../../../../plugins/agents/settings.ts'
import { createGateway, type Plugin } from '../../../../src/index.ts'
import type { PluginApi } from '../../../../src/plugin.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

export const AGENT = fileURLToPath(new URL('../../../fixtures/acp/agent.mjs', import.meta.url))

type Written = Parameters<typeof resolveSettings>[2] & { readonly auth?: object }

/** A pool of the scripted agent with these flags, and settings as they are written. */
export interface PoolOptions {
  readonly id?: string
  /** Run by Node. */
  readonly script?: string
  /** Instead of a script. */
  readonly command?: string
  readonly args?: readonly string[]
  readonly settings?: Written
  readonly parts?: Partial<HostDeps>
}

/** All that plugins get of a gateway; everything is gone at the end of the test. */
export async function agentWorld(t: TestContext) {
  let given: PluginApi | undefined
  const plugin: Plugin = { name: 'keeps-its-api', setup: api => void (given = api) }
  const directory = await mkdtemp(join(tmpdir(), 'agents-'))
  const gateway = await createGateway({ processes: { max: 32 } }, { plugins: [plugin], directory })
  const pools: LocalAgentHost[] = []
  // Timers that the tests wait for do not keep the process alive.
  const awake = setInterval(() => undefined, 1000)
  cleanup(t, async () => {
    clearInterval(awake)
    await Promise.all(pools.map(pool => pool.stop()))
    await gateway.close()
    await rm(directory, { recursive: true, force: true })
  })
  await gateway.start()
  assert.ok(given)
  const { programs, clock, log } = given
  const pool = ({
    id = 'scripted',
    script = AGENT,
    command,
    args = [],
    settings,
    parts,
  }: PoolOptions = {}): LocalAgentHost => {
    const own = {
      command: command ?? process.execPath,
      args: command === undefined ? [script, ...args] : [...args],
      capabilities: [],
    }
    const made = new LocalAgentHost({
      settings: resolveSettings(id, { ...own, ...settings }),
      ...{ programs, clock, log, directory, state: join(directory, 'state') },
      commands: undefined,
      version: '0.0.0',
      ...parts,
    })
    pools.push(made)
    return made
  }
  return { directory, pool, programs, clock, log }
}

/** Session side that hears everything, and answers permissions with what `decide` says. */
export function listener(
  decide: (request: PermissionRequest) => Promise<PermissionOutcome> | PermissionOutcome = () => 'cancelled',
) {
  const updates: SessionUpdate[] = []
  const requests: PermissionRequest[] = []
  const waiting = new Set<() => void>()
  const side: SessionHandler = {
    update: update => {
      updates.push(update)
      for (const look of waiting) look()
    },
    permission: async request => {
      requests.push(request)
      for (const look of waiting) look()
      return decide(request)
    },
    elicit: () => Promise.resolve({ action: 'decline' }),
  }
  /** All text so far. */
  const text = (): string => updates.map(update => (update.is === 'text' ? update.text : '')).join('')
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise(resolve => {
      const look = (): void => {
        if (!isSo()) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return { side, updates, requests, text, until }
}

export const say = (text: string) => [{ type: 'text', text }]

/** All that a session is opened with, in the directory of the test. */
export const wanted = (cwd: string, side: SessionHandler, more: Partial<SessionRequest> = {}): SessionRequest => ({
  cwd,
  mcpServers: [],
  handler: side,
  ...more,
})

/** An allowed-once option, by its kind. */
export const allowOnce = ({ options }: PermissionRequest): PermissionOutcome => {
  const found = options.find(({ kind }) => kind === 'allow_once')
  return found === undefined ? 'cancelled' : { optionId: found.optionId }
}

/** For `assert.rejects`. */
export const fails = (kind: AgentFailure['kind'], phase?: string, words?: RegExp) => (error: AgentFailure) => {
  assert.equal(error.kind, kind, error.message)
  if (phase !== undefined) assert.equal(error.phase, phase, error.message)
  if (words !== undefined) assert.match(`${error.message}\n${error.lastWords ?? ''}`, words)
  return true
}

/** Says whether it runs; one that nobody has waited for yet does not. */
export function isAlive(pid: number | undefined): boolean {
  try {
    process.kill(pid ?? 0, 0)
    const stat = process.platform === 'linux' ? readFileSync(`/proc/${String(pid)}/stat`, 'latin1') : ''
    return pid !== undefined && !stat.includes(') Z ')
  } catch {
    return false
  }
}
