import { join, resolve } from 'node:path'
import type { AuditEvent, Metric, PluginApi } from '../../src/plugin.ts'
import { gatewayError } from '../../src/plugin.ts'
import { createContainment } from './containment.ts'
import type { AgentHost } from './acp/agent-host.ts'
import { LocalAgentHost } from './acp/agent-host.ts'
import type { TaskService } from './tasks/service.ts'
import { LocalTaskService, parseTaskSettings } from './tasks/service.ts'
import type { CallbackTokens } from './callback.ts'
import type { AgentSettings, AgentsConfig } from './settings.ts'

interface ConfiguredAgent {
  readonly as: string
  readonly host: LocalAgentHost
}

export type AgentRuntime = Pick<LocalRuntime, keyof LocalRuntime>

/** Agents and the task service; survives reloads. */
export class LocalRuntime {
  #api: PluginApi<AgentsConfig>
  readonly #callback: CallbackTokens
  /** Includes replaced agents with running sessions. */
  readonly #hosts = new Set<LocalAgentHost>()
  #agents: readonly AgentSettings[]
  #configured = new Map<string, ConfiguredAgent>()
  #version = ''
  #service: LocalTaskService | undefined

  constructor(api: PluginApi<AgentsConfig>, agents: readonly AgentSettings[], callback: CallbackTokens) {
    this.#api = api
    this.#agents = agents
    this.#callback = callback
  }

  get service(): TaskService {
    if (this.#service !== undefined) return this.#service
    throw gatewayError('GW_UPSTREAM_DOWN', { upstream: 'agents', why: 'the service is stopped' })
  }

  /**
   * Opens the store and recovers tasks from a crashed gateway; `version` is the gateway's version. Can follow a
   * `stop`.
   */
  async start(version: string): Promise<void> {
    const { programs, state, directory, log, clock } = this.#api
    this.#version = version
    await programs.killOrphans()
    const { file } = this.#api.options.tasks ?? {}
    const defaultFile = state === undefined ? undefined : join(state, 'agents.db')
    const environment = {
      file: file === undefined ? defaultFile : resolve(directory, file),
      now: () => Date.now(),
      hide: (text: string) => this.#api.hide(text),
      record: (event: AuditEvent) => this.#api.record(event),
      log,
      clock,
    }
    this.#replaceAgents()
    this.#service = new LocalTaskService(environment, this.#buildServiceDeps())
  }

  /** Stops all processes; background tasks are stored and can be resumed. */
  async stop(): Promise<void> {
    this.#service?.stop()
    this.#service = undefined
    const hosts = [...this.#hosts]
    this.#hosts.clear()
    this.#configured.clear()
    await Promise.all(hosts.map(host => host.stop()))
  }

  /** Applies a reloaded configuration: tasks continue, changed agents are replaced. */
  applyConfig(api: PluginApi<AgentsConfig>, agents: readonly AgentSettings[]): void {
    const before = this.#api
    this.#api = api
    this.#agents = agents
    const { file } = api.options.tasks ?? {}
    if (this.#service !== undefined && before.options.tasks?.file !== file)
      api.log.warn('agents.tasks.file has changed; restart the gateway to apply it', { file })
    if (this.#service === undefined || api === before) return
    this.#replaceAgents()
    this.#service.renew(this.#buildServiceDeps())
  }

  figures(): readonly Metric[] {
    return this.#service?.figures() ?? []
  }

  #buildServiceDeps(): ConstructorParameters<typeof LocalTaskService>[1] {
    const agents = new Map<string, AgentHost>([...this.#configured].map(([id, { host }]) => [id, host] as const))
    return {
      agents,
      routing: this.#api.options.routing,
      auth: this.#api.config.auth,
      tasks: parseTaskSettings(this.#api.options.tasks),
      containment: createContainment(this.#api.options, this.#api),
      callback: this.#callback,
    }
  }

  /** Keeps unchanged agents with their processes; changed ones finish their current work first. */
  #replaceAgents(): void {
    const before = this.#configured
    const { commands } = this.#api.options
    this.#configured = new Map(
      this.#agents.map(settings => {
        const as = JSON.stringify([settings, [...settings.capabilities], commands])
        const previous = before.get(settings.id)
        const host = previous?.as === as ? previous.host : this.#createHost(settings)
        return [settings.id, { as, host }]
      }),
    )
    const activeHosts = new Set([...this.#configured.values()].map(({ host }) => host))
    for (const host of activeHosts) this.#hosts.add(host)
    for (const host of this.#hosts)
      if (!activeHosts.has(host) && host.processes === 0) {
        this.#hosts.delete(host)
        void host.stop()
      }
  }

  #createHost(settings: AgentSettings): LocalAgentHost {
    const { programs, clock, directory, state } = this.#api
    const log = this.#api.log.child({ agent: settings.id })
    const { commands } = this.#api.options
    return new LocalAgentHost({
      ...{ settings, programs, clock, log, directory, state, commands, version: this.#version },
    })
  }
}
