import type { Metric, JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { AgentHost } from './acp/agent-host.ts'
import type { TaskOutcome, TaskState } from './types.ts'
import type { SlotQueue } from './scheduling.ts'

const BUCKETS_S = [1, 5, 15, 60, 300, 900, 1800]
const TOKENS = { inputTokens: 'input', outputTokens: 'output', thoughtTokens: 'thought' } as const

interface Durations {
  readonly counts: number[]
  sum: number
  count: number
}

/** Counts agent activity for metrics. Labels contain only configured agents, so the series count is bounded. */
export class AgentCounters {
  readonly #counts = new Map<string, Map<string, { labels: Record<string, string>; value: number }>>()
  readonly #turns = new Map<string, Durations>()

  countTask(agent: string, state: TaskState, outcome: TaskOutcome): void {
    this.#addCount('tasks', { agent, state })
    if (state === 'failed') this.#addCount('task_failures', { agent, outcome })
  }

  countPermission(agent: string, action: 'allow' | 'deny', kind: string): void {
    this.#addCount('permissions', { agent, action, kind })
  }

  countOutput(agent: string, bytes: number): void {
    this.#addCount('output_bytes', { agent }, bytes)
  }

  countTokens(agent: string, usage: JsonObject | undefined): void {
    if (!isObject(usage)) return
    for (const [member, kind] of Object.entries(TOKENS)) {
      const value = usage[member]
      if (typeof value === 'number' && value > 0 && Number.isFinite(value))
        this.#addCount('tokens', { agent, kind }, value)
    }
  }

  countTurn(agent: string, seconds: number): void {
    let durations = this.#turns.get(agent)
    if (durations === undefined)
      this.#turns.set(agent, (durations = { counts: BUCKETS_S.map(() => 0), sum: 0, count: 0 }))
    durations.sum += seconds
    durations.count++
    BUCKETS_S.forEach((bound, index) => {
      if (durations !== undefined && seconds <= bound) durations.counts[index] = (durations.counts[index] ?? 0) + 1
    })
  }

  figures(hosts: ReadonlyMap<string, AgentHost>, queues: ReadonlyMap<string, SlotQueue>): Metric[] {
    const gauge = (name: string, help: string, value: (id: string, host: AgentHost) => number): Metric => ({
      ...{ name: `tapgate_agent_${name}`, type: 'gauge', help },
      samples: [...hosts].map(([agent, host]) => ({ labels: { agent }, value: value(agent, host) })),
    })
    return [
      this.#buildCounter('tasks', 'Finished tasks, by last agent.'),
      this.#buildCounter('task_failures', 'Failed tasks, by reason.'),
      this.#buildCounter('permissions', 'Permission requests, by decision.'),
      this.#buildCounter('output_bytes', 'Output bytes of agents.'),
      this.#buildCounter('tokens', 'Tokens, if the agent reports them.'),
      this.#buildDurations(),
      gauge('queue_depth', 'Tasks that wait for a slot.', agent => queues.get(agent)?.queued ?? 0),
      gauge('running', 'Tasks that hold a slot.', agent => queues.get(agent)?.running ?? 0),
      gauge('processes', 'Agent processes.', (_, { load }) => load.processes),
      gauge('sessions', 'Open agent sessions.', (_, { load }) => load.sessions),
    ]
  }

  #addCount(name: string, labels: Record<string, string>, by = 1): void {
    const all = this.#counts.get(name) ?? new Map<string, { labels: Record<string, string>; value: number }>()
    this.#counts.set(name, all)
    const key = JSON.stringify(Object.values(labels))
    all.set(key, { labels, value: (all.get(key)?.value ?? 0) + by })
  }

  #buildCounter(name: string, help: string): Metric {
    const samples = [...(this.#counts.get(name)?.values() ?? [])]
    return {
      ...{ name: `tapgate_agent_${name}`, type: 'counter', help },
      samples: samples.map(({ labels, value }) => ({ suffix: '_total', labels, value })),
    }
  }

  #buildDurations(): Metric {
    const samples = [...this.#turns].flatMap(([agent, { counts, sum, count }]) => [
      ...BUCKETS_S.map((bound, index) => ({
        suffix: '_bucket',
        labels: { agent, le: String(bound) },
        value: counts[index] ?? 0,
      })),
      { suffix: '_bucket', labels: { agent, le: '+Inf' }, value: count },
      { suffix: '_sum', labels: { agent }, value: sum },
      { suffix: '_count', labels: { agent }, value: count },
    ])
    return { name: 'tapgate_agent_turn_seconds', type: 'histogram', help: 'Duration of turns.', samples }
  }
}
