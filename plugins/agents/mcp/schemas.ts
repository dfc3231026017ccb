import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, Payload } from '../../../src/plugin.ts'

/** Maximum wait per call in milliseconds: many clients time out after 60 s without output. */
export const MAX_WAIT_MS = 45_000
/** Maximum page size. */
export const MAX_PAGE_BYTES = 256 * 1024
/** Default page size. */
export const PAGE_BYTES = 32 * 1024
const MAX_PROMPT = 512 * 1024

const ID = { type: 'string', minLength: 1, maxLength: 128 }
const TASK_ID = { ...ID, description: 'The task_id returned by delegate_task.' }
const WORD = { type: 'string', minLength: 1, maxLength: 128 }
const PATH = { type: 'string', minLength: 1, maxLength: 4096 }
const WAIT = {
  type: 'integer',
  minimum: 0,
  maximum: MAX_WAIT_MS,
  description: `Maximum wait in milliseconds; at most ${MAX_WAIT_MS}.`,
}

function buildInputSchema(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required: [...required], additionalProperties: false }
}

const COUNT = { type: 'integer', minimum: 0 }

export const INPUTS = {
  delegate_task: buildInputSchema(
    {
      prompt: {
        type: 'string',
        minLength: 1,
        maxLength: MAX_PROMPT,
        description: 'Instructions with everything that the agent needs to know.',
      },
      agent: { ...WORD, description: 'Agent id from list_agents. Default: the best match.' },
      task_type: { ...WORD, description: 'Task type, such as review; used by routing rules.' },
      capabilities: {
        type: 'array',
        items: WORD,
        maxItems: 32,
        description: 'Required capabilities, from list_agents.',
      },
      cwd: { ...PATH, description: 'Absolute path of the working directory.' },
      files: {
        type: 'array',
        items: PATH,
        maxItems: 64,
        description: 'Absolute paths of relevant files.',
      },
      continues: { ...ID, description: 'task_id of an earlier task whose session to continue.' },
      model: { ...WORD, description: 'Model id of the agent.' },
      background: { type: 'boolean', description: 'Return immediately; agent_status reports progress.' },
      wait_ms: WAIT,
      timeout_s: { type: 'integer', minimum: 1, maximum: 86_400, description: 'Time limit in seconds.' },
      isolation: {
        enum: ['none', 'worktree'],
        description: 'worktree: use a separate git worktree; its changes become the diff.',
      },
      idempotency_key: { ...WORD, description: 'A repeated key returns the existing task.' },
    },
    ['prompt'],
  ),
  agent_status: buildInputSchema({
    task_id: TASK_ID,
    wait_ms: { ...WAIT, default: 0 },
    since_seq: { ...COUNT, description: 'seq of the last event you have: returns as soon as there are newer events.' },
  }),
  agent_cancel: buildInputSchema({ task_id: TASK_ID, reason: { type: 'string', maxLength: 256 } }, ['task_id']),
  agent_reply: buildInputSchema(
    {
      task_id: TASK_ID,
      question_id: { ...ID, description: 'Question id. Default: the only open question.' },
      action: { enum: ['accept', 'decline', 'cancel'], default: 'accept' },
      content: { type: 'object', description: 'The answer, according to the schema of the question.' },
      prompt: {
        type: 'string',
        minLength: 1,
        maxLength: MAX_PROMPT,
        description: 'Instead of an answer: the next instruction in the same session. Starts a new task.',
      },
      wait_ms: WAIT,
    },
    ['task_id'],
  ),
  list_agents: buildInputSchema({}),
  agent_result: buildInputSchema(
    {
      task_id: TASK_ID,
      what: { enum: ['text', 'diff', 'log'], default: 'text' },
      offset: {
        ...COUNT,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: 'next_offset of the previous page.',
      },
      max_bytes: { type: 'integer', minimum: 1024, maximum: MAX_PAGE_BYTES, default: PAGE_BYTES },
    },
    ['task_id'],
  ),
} as const

export type ToolName = keyof typeof INPUTS

interface ToolTexts {
  readonly title: string
  readonly description: string
  readonly annotations: JsonObject
}

const READS = { readOnlyHint: true, openWorldHint: false }

const WORDS: Readonly<Record<ToolName, ToolTexts>> = {
  delegate_task: {
    title: 'Delegate a task to a coding agent',
    description:
      'Delegates work to a coding agent and waits up to 45 s. Longer tasks continue in the background: the result has the task_id, and agent_status reports progress.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
  agent_status: {
    title: 'Get the status of a delegated task',
    description:
      'Returns the state, newest events and result of a task. With wait_ms, waits until it finishes, asks a question, or has an event after since_seq. Without task_id, lists your newest tasks.',
    annotations: READS,
  },
  agent_cancel: {
    title: 'Cancel a delegated task',
    description: 'Stops the work on a task. Completed changes are not undone.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  agent_reply: {
    title: 'Answer or continue a delegated task',
    description:
      'Answers an open question (state input_required or interrupted), or sends the next prompt to the session of a finished task. Waits like delegate_task.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
  list_agents: {
    title: 'List coding agents',
    description: 'Available agents with capabilities, health and load.',
    annotations: READS,
  },
  agent_result: {
    title: 'Read the result of a delegated task',
    description: 'The full output, diff or log of a task, page by page.',
    annotations: READS,
  },
}

/** Constant `tools/list` result, serialized once. */
export const TOOL_LIST = Payload.of(
  {
    resultType: 'complete',
    tools: Object.entries(WORDS).map(([name, { title, description, annotations }]) => ({
      name,
      title,
      description,
      inputSchema: INPUTS[name as ToolName],
      annotations: { title, ...annotations },
    })),
    ttlMs: 300_000,
    cacheScope: 'public',
  },
  'modern',
)

export const TOOLS: ReadonlySet<string> = new Set(Object.keys(WORDS))

const CHECKS = {
  string: (value: unknown, { minLength = 0, maxLength = Infinity }: JsonObject) => {
    const fits =
      typeof value === 'string' &&
      value.length >= Number(minLength) &&
      value.length <= Number(maxLength) &&
      !value.includes('\0')
    return fits ? undefined : `a string of ${Number(minLength)} to ${Number(maxLength)} characters, without NUL`
  },
  integer: (value: unknown, { minimum = 0, maximum = Infinity }: JsonObject) => {
    const fits = Number.isInteger(value) && Number(value) >= Number(minimum) && Number(value) <= Number(maximum)
    return fits ? undefined : `a whole number from ${Number(minimum)} to ${Number(maximum)}`
  },
  boolean: (value: unknown) => (typeof value === 'boolean' ? undefined : 'true or false'),
  object: (value: unknown) => (isObject(value) ? undefined : 'an object'),
  array: (value: unknown, { items, maxItems = Infinity }: JsonObject) => {
    if (!Array.isArray(value) || value.length > Number(maxItems)) return `a list of at most ${Number(maxItems)}`
    const wrong = (value as unknown[]).map(item => describeMismatch(item, items as JsonObject)).find(Boolean)
    return wrong === undefined ? undefined : `a list with each item ${wrong}`
  },
} as const

/** Returns the reason why arguments do not match their schema, or undefined. */
export function validateArguments(args: JsonObject, schema: JsonObject): string | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : []
  const missing = required.find(key => args[String(key)] === undefined)
  if (missing !== undefined) return `"${String(missing)}" is missing`
  for (const [key, value] of Object.entries(args)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (!isObject(property))
      return `unknown argument "${key.slice(0, 64)}"; known: ${Object.keys(properties).join(', ') || 'none'}`
    const wrong = value === undefined ? undefined : describeMismatch(value, property)
    if (wrong !== undefined) return `"${key}" must be ${wrong}`
  }
  return undefined
}

/** Describes the expected value. */
function describeMismatch(value: unknown, schema: JsonObject): string | undefined {
  if (Array.isArray(schema.enum)) {
    const choices = schema.enum as unknown[]
    return choices.includes(value) ? undefined : `one of ${choices.join(', ')}`
  }
  return CHECKS[schema.type as keyof typeof CHECKS](value, schema)
}
