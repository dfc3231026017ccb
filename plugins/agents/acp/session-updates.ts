import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../../../src/plugin.ts'
import { BoundedMap, isObject } from '../../../src/plugin.ts'
import type { AgentToolCall, PermissionRequest, SessionUpdate } from '../types.ts'
import type { ToolKind } from '../settings.ts'

const MAX_PATHS = 256

const MAX_PATH = 4096

/** Placeholder for paths beyond the limit: matches no directory rule. */
const EVERYWHERE = '/'

const MAX_CALLS = 256

const MAX_ID = 512

const MAX_TITLE = 2048

/** Byte limits for a tool call's input and content. */
const MAX_INPUT = 256 * 1024

const MAX_BLOCKS = 64

const KINDS: ReadonlySet<unknown> = new Set<ToolKind>(
  'read edit delete move search execute think fetch switch_mode other'.split(' ') as ToolKind[],
)

const STATES: ReadonlySet<unknown> = new Set(['pending', 'in_progress', 'completed', 'failed'])

/** Parses a `session/update`; unknown variants are passed through. */
export function readUpdate(update: JsonObject, calls: ToolCalls): SessionUpdate {
  const name = typeof update.sessionUpdate === 'string' ? update.sessionUpdate : ''
  const read = Object.hasOwn(VARIANTS, name) ? VARIANTS[name] : undefined
  return read?.(update, calls) ?? { is: 'other', name, update }
}

type UpdateReader = (update: JsonObject, calls: ToolCalls) => SessionUpdate | undefined

const VARIANTS: Readonly<Record<string, UpdateReader>> = {
  agent_message_chunk: ({ content }) => {
    if (!isObject(content)) return undefined
    return isText(content) ? { is: 'text', text: content.text } : { is: 'content', content }
  },
  agent_thought_chunk: () => ({ is: 'thought' }),
  tool_call: readToolCall,
  tool_call_update: readToolCall,
  plan: ({ entries }) =>
    Array.isArray(entries) ? { is: 'plan', entries: entries.filter(isObject).slice(0, 256) } : undefined,
  session_info_update: ({ _meta }) => readThreadStatus(_meta),
  usage_update: ({ sessionUpdate: _, ...usage }) => ({ is: 'usage', usage }),
}

function readToolCall(update: JsonObject, calls: ToolCalls): SessionUpdate | undefined {
  const merged = calls.merge(update)
  return merged && { is: 'tool', ...merged }
}

/** Reads the Codex thread status: Codex reports failed turns as successful. */
function readThreadStatus(meta: unknown): SessionUpdate | undefined {
  const status = isObject(meta) && isObject(meta.codex) ? meta.codex.threadStatus : undefined
  return isObject(status) ? { is: 'health', isBroken: status.type === 'systemError' } : undefined
}

function isText(content: JsonObject): content is { type: 'text'; text: string } {
  return content.type === 'text' && typeof content.text === 'string'
}

const OPTION_KINDS: ReadonlySet<unknown> = new Set(['allow_once', 'allow_always', 'reject_once', 'reject_always'])

/** Parses `session/request_permission`; undefined without a tool call. Options with unknown kinds are dropped. */
export function readPermission(
  { toolCall, options }: JsonObject,
  calls: ToolCalls,
): (Omit<PermissionRequest, 'signal'> & { readonly isNew: boolean }) | undefined {
  const merged = isObject(toolCall) ? calls.merge(toolCall) : undefined
  const offered = Array.isArray(options) ? options.filter(isObject).slice(0, 32) : []
  return merged && { ...merged, options: offered.flatMap(parseOption) }
}

function parseOption({ optionId, name, kind }: JsonObject): PermissionRequest['options'] {
  if (typeof optionId !== 'string' || !OPTION_KINDS.has(kind)) return []
  const permissionKind = kind as PermissionRequest['options'][number]['kind']
  return [{ optionId, name: typeof name === 'string' ? name.slice(0, 256) : optionId, kind: permissionKind }]
}

/** Tool calls of one session, merged from all their updates. */
export class ToolCalls {
  readonly #toolCalls = new BoundedMap<string, AgentToolCall>({ max: MAX_CALLS })

  /** Returns undefined if there is no call id. */
  merge(update: JsonObject): { readonly call: AgentToolCall; readonly isNew: boolean } | undefined {
    const id = update.toolCallId
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID) return undefined
    const before = this.#toolCalls.get(id)
    const call = mergeCall(before ?? { ...BLANK, id }, update)
    this.#toolCalls.set(id, call)
    return { call, isNew: before === undefined }
  }
}

const BLANK: Omit<AgentToolCall, 'id'> = {
  ...{ title: '', kind: undefined, status: 'pending', paths: [], rawInput: undefined, content: [] },
}

/** Later members replace earlier ones; paths only accumulate, because a rule may have to match all of them. */
function mergeCall(call: AgentToolCall, update: JsonObject): AgentToolCall {
  const { title, kind, status, rawInput, content, locations } = update
  return {
    id: call.id,
    title: typeof title === 'string' ? limitTitle(title) : call.title,
    kind: KINDS.has(kind) ? (kind as ToolKind) : isPresent(kind) ? undefined : call.kind,
    status: STATES.has(status) ? (status as AgentToolCall['status']) : call.status,
    paths: mergePaths(call.paths, [locations, content]),
    rawInput: isPresent(rawInput) ? limitInput(rawInput) : call.rawInput,
    content: Array.isArray(content) ? limitContent(content) : call.content,
  }
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Keeps both ends of a long title, because either may matter. */
function limitTitle(title: string): string {
  if (title.length <= MAX_TITLE) return title
  return `${title.slice(0, MAX_TITLE / 2).toWellFormed()} … ${title.slice(-MAX_TITLE / 2).toWellFormed()}`
}

/** Drops oversized input: rules that need it become uncertain, and approvers see that it is missing. */
function limitInput(input: unknown): JsonObject | undefined {
  return isObject(input) && JSON.stringify(input).length <= MAX_INPUT ? input : undefined
}

function limitContent(content: readonly unknown[]): readonly JsonObject[] {
  const blocks = content.filter(isObject).slice(0, MAX_BLOCKS)
  return JSON.stringify(blocks).length <= MAX_INPUT ? blocks : []
}

/** Collects paths from `locations` and `diff` content. */
function mergePaths(before: readonly string[], lists: readonly unknown[]): readonly string[] {
  const paths = lists
    .flatMap(list => (Array.isArray(list) ? (list as unknown[]) : []))
    .flatMap(each => (isObject(each) && typeof each.path === 'string' ? [normalizePath(each.path)] : []))
  const all = new Set([...before, ...paths])
  return all.size > MAX_PATHS || paths.some(({ length }) => length > MAX_PATH) ? [EVERYWHERE] : [...all]
}

function normalizePath(path: string): string {
  if (!path.startsWith('file://')) return path
  try {
    return fileURLToPath(path)
  } catch {
    return path
  }
}
