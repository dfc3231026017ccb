import type { JsonObject, Metric } from '../../src/plugin.ts'
import type { AgentHost } from './acp/agent-host.ts'
import type { SlotQueue } from './scheduling.ts'
import type { TaskOutcome, TaskState } from './types.ts'

const COUNTERS = {
  tasks: 'Finished tasks, by last agent.',
  task_failures: 'Failed tasks, by reason.',
  permissions: 'Permission requests, by decision.',
  output_bytes: 'Output bytes of agents.',
  tokens: 'Tokens, if the agent reports them.',
  turns: 'Finished turns.',
  turn_seconds: 'Duration of turns.',
} as const

const TOKENS = { inputTokens: 'input', outputTokens: 'output', thoughtTokens: 'thought' } as const

/** Counts agent activity for metrics. Labels contain only configured agents, so the series count is bounded. */
export class AgentCounters {
  readonly #counts = new Map<string, Map<string, { labels: Record<string, string>; value: number }>>()

  countTask(agent: string, state: TaskState, outcome: TaskOutcome): void {
    this.add('tasks', { agent, state })
    if (state === 'failed') this.add('task_failures', { agent, outcome })
  }

  countTurn(agent: string, seconds: number, usage: JsonObject | undefined): void {
    this.add('turns', { agent })
    this.add('turn_seconds', { agent }, seconds)
    for (const [member, kind] of Object.entries(TOKENS)) {
      const value = usage?.[member]
      if (typeof value === 'number' && value > 0 && Number.isFinite(value)) this.add('tokens', { agent, kind }, value)
    }
  }

  add(name: keyof typeof COUNTERS, labels: Record<string, string>, by = 1): void {
    const all = this.#counts.get(name) ?? new Map<string, { labels: Record<string, string>; value: number }>()
    this.#counts.set(name, all)
    const key = JSON.stringify(Object.values(labels))
    all.set(key, { labels, value: (all.get(key)?.value ?? 0) + by })
  }

  figures(hosts: ReadonlyMap<string, AgentHost>, queues: ReadonlyMap<string, SlotQueue>): Metric[] {
    const gauge = (name: string, help: string, value: (id: string, host: AgentHost) => number): Metric => ({
      ...{ name: `tapgate_agent_${name}`, type: 'gauge', help },
      samples: [...hosts].map(([agent, host]) => ({ labels: { agent }, value: value(agent, host) })),
    })
    const counters = Object.entries(COUNTERS).map(([name, help]): Metric => {
      const samples = [...(this.#counts.get(name)?.values() ?? [])]
      return {
        ...{ name: `tapgate_agent_${name}`, type: 'counter', help },
        samples: samples.map(({ labels, value }) => ({ suffix: '_total', labels, value })),
      }
    })
    return [
      ...counters,
      gauge('queue_depth', 'Tasks that wait for a slot.', agent => queues.get(agent)?.queued ?? 0),
      gauge('running', 'Tasks that hold a slot.', agent => queues.get(agent)?.running ?? 0),
      gauge('processes', 'Agent processes.', (_, { processes }) => processes),
    ]
  }
}
