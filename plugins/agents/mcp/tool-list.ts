import { Payload, type JsonObject } from '../../../src/plugin.ts'
import { INPUTS, OUTPUTS, type ToolName } from './schemas.ts'

interface Words {
  readonly title: string
  readonly description: string
  readonly output: keyof typeof OUTPUTS
  readonly annotations: JsonObject
  readonly execution?: JsonObject
}

const READS = { readOnlyHint: true, openWorldHint: false }

const WORDS: Readonly<Record<ToolName, Words>> = {
  delegate_task: {
    title: 'Delegate a task to a coding agent',
    description:
      'Gives work to a coding agent and waits up to 45 s for it. What takes longer goes on: the answer has its task_id, and agent_status tells how it goes.',
    output: 'task',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    execution: { taskSupport: 'optional' },
  },
  agent_status: {
    title: 'How a delegated task does',
    description:
      'State, newest events and result of a task; with wait_ms it waits for the end, a question, or an event after since_seq. Without task_id: your newest tasks.',
    output: 'status',
    annotations: READS,
  },
  agent_cancel: {
    title: 'Cancel a delegated task',
    description: 'Ends the work on a task. What was done is not undone.',
    output: 'cancelled',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  agent_reply: {
    title: 'Answer a delegated task, or go on with it',
    description:
      'Answers what a task waits for (state input_required or interrupted), or gives the next prompt to the session of a task that has ended. Waits like delegate_task.',
    output: 'task',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
  list_agents: {
    title: 'List coding agents',
    description: 'Who can be given work: capabilities, health, load, and what is left of the limits.',
    output: 'agents',
    annotations: READS,
  },
  agent_result: {
    title: 'Read the result of a delegated task',
    description: 'All that an agent said, its diff, or its log, page by page.',
    output: 'page',
    annotations: READS,
  },
}

/** `tools/list`: the same object each time, so that nobody makes anything of it anew. */
export const TOOL_LIST = Payload.of(
  {
    resultType: 'complete',
    tools: Object.entries(WORDS).map(([name, { title, description, output, annotations, execution }]) => ({
      name,
      title,
      description,
      inputSchema: INPUTS[name as ToolName],
      outputSchema: OUTPUTS[output],
      annotations: { title, ...annotations },
      ...(execution === undefined ? {} : { execution }),
    })),
    ttlMs: 300_000,
    cacheScope: 'public',
  },
  'modern',
)

export const TOOLS: ReadonlySet<string> = new Set(Object.keys(WORDS))
