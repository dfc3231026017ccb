import { type AuditEvent, type Figure, type PluginApi, gatewayError } from '../../src/plugin.ts'
import { containmentFor } from './containment.ts'
import { AgentPool } from './processes/pool.ts'
import { Places } from './processes/process-quota.ts'
import { TaskDesk, taskSettingsOf } from './tasks/service.ts'
import type { AgentHost } from './types/agent.ts'
import type { OpenWorks, Works } from './types/runtime.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'
import type { Callback, Desk } from './types/tasks.ts'
import { join, resolve } from 'node:path'

/** How often it is seen whether an agent that is no more configured so has anything left to do, in milliseconds. */
const LOOK_MS = 1000

/** One agent as it was configured. */
interface Employed {
  readonly as: string
  readonly host: AgentPool
}

export const openWorks: OpenWorks = (api, agents, callback) => new AgentWorks(api, agents, callback)

/** Agents, what contains them, and the desk before them, through all generations of a gateway. */
class AgentWorks implements Works {
  #api: PluginApi<AgentsConfig>
  readonly #callback: Callback
  readonly #leaving = new Set<AgentPool>()
  #agents: readonly AgentSettings[]
  #employed = new Map<string, Employed>()
  #places: Places
  #version = ''
  #desk: TaskDesk | undefined
  #takeBackLook: (() => void) | undefined

  constructor(api: PluginApi<AgentsConfig>, agents: readonly AgentSettings[], callback: Callback) {
    this.#api = api
    this.#agents = agents
    this.#callback = callback
    this.#places = new Places(api.options.processes)
  }

  get desk(): Desk {
    if (this.#desk !== undefined) return this.#desk
    throw gatewayError('GW_UPSTREAM_DOWN', { upstream: 'agents', why: 'it is stopped' })
  }

  async start(version: string): Promise<void> {
    const { programs, state, directory, log, clock } = this.#api
    this.#version = version
    await programs.endOrphans()
    const { file } = this.#api.options.tasks ?? {}
    const kept = state === undefined ? undefined : join(state, 'agents.db')
    const environment = {
      file: file === undefined ? kept : resolve(directory, file),
      now: () => Date.now(),
      hide: (text: string) => this.#api.hide(text),
      record: (event: AuditEvent) => this.#api.record(event),
      log,
      clock,
    }
    this.#employ()
    this.#desk = new TaskDesk(environment, this.#parts())
    for (const { host } of this.#employed.values()) host.warm()
  }

  async stop(): Promise<void> {
    this.#desk?.stop()
    this.#desk = undefined
    this.#takeBackLook?.()
    const hosts = [...this.#leaving, ...[...this.#employed.values()].map(({ host }) => host)]
    this.#leaving.clear()
    this.#employed.clear()
    await Promise.all(hosts.map(host => host.stop()))
  }

  adopt(api: PluginApi<AgentsConfig>, agents: readonly AgentSettings[]): void {
    const before = this.#api
    this.#api = api
    this.#agents = agents
    this.#hear(before.options.tasks?.file, api.options.tasks?.file)
    if (api.options.processes !== before.options.processes) this.#places = new Places(api.options.processes)
    if (this.#desk === undefined || api === before) return
    this.#employ()
    this.#desk.renew(this.#parts())
    for (const { host } of this.#employed.values()) host.warm()
  }

  #hear(before: string | undefined, file: string | undefined): void {
    if (this.#desk === undefined || before === file) return
    this.#api.log.warn('another agents.tasks.file takes effect at the next start of the gateway', { file })
  }

  figures(): readonly Figure[] {
    return this.#desk?.figures() ?? []
  }

  #parts(): ConstructorParameters<typeof TaskDesk>[1] {
    const agents = new Map<string, AgentHost>(
      [...this.#employed].map(([id, { host }]) => [id, host] as const),
    )
    return {
      agents,
      routing: this.#api.options.routing,
      auth: this.#api.config.auth,
      tasks: taskSettingsOf(this.#api.options.tasks),
      containment: containmentFor(this.#api.options, this.#api),
      callback: this.#callback,
    }
  }

  /** Agents that are as they were keep their processes; of the others, those that are at work finish first. */
  #employ(): void {
    const before = this.#employed
    const { commands } = this.#api.options
    this.#employed = new Map(
      this.#agents.map(settings => {
        const as = JSON.stringify([settings, [...settings.capabilities], commands])
        const known = before.get(settings.id)
        const host = known?.as === as ? known.host : this.#host(settings)
        return [settings.id, { as, host }]
      }),
    )
    const kept = new Set([...this.#employed.values()].map(({ host }) => host))
    for (const { host } of before.values()) if (!kept.has(host)) this.#leaving.add(host)
    this.#seeOff()
  }

  #host(settings: AgentSettings): AgentPool {
    const { programs, clock, directory, state } = this.#api
    const log = this.#api.log.child({ agent: settings.id })
    const { commands } = this.#api.options
    return new AgentPool({
      ...{ settings, programs, clock, log, directory, state, commands, version: this.#version },
      places: this.#places,
    })
  }

  #seeOff(): void {
    this.#takeBackLook?.()
    this.#takeBackLook = undefined
    for (const host of this.#leaving) {
      if (host.load.sessions > 0) continue
      this.#leaving.delete(host)
      void host.stop()
    }
    if (this.#leaving.size > 0) this.#takeBackLook = this.#api.clock.after(LOOK_MS, () => this.#seeOff())
  }
}
