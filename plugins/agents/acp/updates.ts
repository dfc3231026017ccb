import { fileURLToPath } from 'node:url'
import { BoundedMap, isObject, type JsonObject } from '../../../src/plugin.ts'
import type { AgentToolCall, PermissionRequest, SessionUpdate } from '../types/agent.ts'
import type { ToolKind } from '../types/settings.ts'

const MAX_PATHS = 256

const MAX_PATH = 4096

const MAX_DEPTH = 4

/** Stands for what could not be listed: no rule about a directory holds for it. */
const EVERYWHERE = '/'

/** Keys of an agent's own input that hold paths: `path`, `file_path`, `filePath`, `paths`, `target_file` … */
const PATH_KEY = /^(.*[_a-z])?(path|file|filename|dir|directory|folder|source|destination)s?$/i

const MAX_CALLS = 256

const MAX_ID = 512

const MAX_TITLE = 2048

/** Bytes of what a call was given, and of what it shows. More is left out. */
const MAX_INPUT = 256 * 1024

const MAX_CONTENT = 256 * 1024

const MAX_BLOCKS = 64

const KINDS: ReadonlySet<unknown> = new Set<ToolKind>([
  ...(['read', 'edit', 'delete', 'move', 'search'] as const),
  ...(['execute', 'think', 'fetch', 'switch_mode', 'other'] as const),
])

const STATES: ReadonlySet<unknown> = new Set<AgentToolCall['status']>([
  'pending',
  'in_progress',
  'completed',
  'failed',
])

/** Reads one `session/update`, whatever it is. What we do not know goes on as it came. */
export function readUpdate(update: JsonObject, calls: ToolCalls): SessionUpdate {
  const name = typeof update.sessionUpdate === 'string' ? update.sessionUpdate : ''
  const read = Object.hasOwn(VARIANTS, name) ? VARIANTS[name] : undefined
  return read?.(update, calls) ?? { is: 'other', name, update }
}

type Read = (update: JsonObject, calls: ToolCalls) => SessionUpdate | undefined

const VARIANTS: Readonly<Record<string, Read>> = {
  agent_message_chunk: ({ content }) => {
    if (!isObject(content)) return undefined
    return isText(content) ? { is: 'text', text: content.text } : { is: 'content', content }
  },
  agent_thought_chunk: ({ content }) =>
    isObject(content) && isText(content) ? { is: 'thought', text: content.text } : undefined,
  tool_call: toolCall,
  tool_call_update: toolCall,
  plan: ({ entries }) =>
    Array.isArray(entries) ? { is: 'plan', entries: entries.filter(isObject).slice(0, 256) } : undefined,
  session_info_update: ({ _meta }) => threadStatus(_meta),
  usage_update: ({ sessionUpdate: _, ...usage }) => ({ is: 'usage', usage }),
}

function toolCall(update: JsonObject, calls: ToolCalls): SessionUpdate | undefined {
  const merged = calls.merge(update)
  return merged && { is: 'tool', ...merged }
}

/** Status of a thread of Codex, which ends a turn that has failed as one that went well. */
function threadStatus(meta: unknown): SessionUpdate | undefined {
  const status = isObject(meta) && isObject(meta.codex) ? meta.codex.threadStatus : undefined
  return isObject(status) ? { is: 'health', isBroken: status.type === 'systemError' } : undefined
}

function isText(content: JsonObject): content is { type: 'text'; text: string } {
  return content.type === 'text' && typeof content.text === 'string'
}

const OPTION_KINDS: ReadonlySet<unknown> = new Set([
  'allow_once',
  'allow_always',
  'reject_once',
  'reject_always',
])

/** Reads `session/request_permission`; undefined when it names no tool call. An option of an unknown kind is none. */
export function readPermission(
  { toolCall: given, options }: JsonObject,
  calls: ToolCalls,
): (Omit<PermissionRequest, 'signal'> & { readonly isNew: boolean }) | undefined {
  const before = isObject(given) ? calls.contentOf(given) : []
  const merged = isObject(given) ? calls.merge(given) : undefined
  if (merged === undefined) return undefined
  const offered = Array.isArray(options) ? options.filter(isObject).slice(0, 32) : []
  return { ...merged, call: withAnnounced(merged.call, before), options: offered.flatMap(optionOf) }
}

/** The call, with what was said of it before and is said no more: what an agent asks with may be a summary of that. */
function withAnnounced(call: AgentToolCall, before: readonly JsonObject[]): AgentToolCall {
  const kept = new Set(call.content.map(block => JSON.stringify(block)))
  const announced = before.filter(block => !kept.has(JSON.stringify(block)))
  return announced.length === 0 ? call : { ...call, announced }
}

function optionOf({ optionId, name, kind }: JsonObject): PermissionRequest['options'] {
  if (typeof optionId !== 'string' || !OPTION_KINDS.has(kind)) return []
  const known = kind as PermissionRequest['options'][number]['kind']
  return [{ optionId, name: typeof name === 'string' ? name.slice(0, 256) : optionId, kind: known }]
}

interface Known {
  call: AgentToolCall
  readonly paths: PathList
}

/** The tool calls of one session, each with all that was said of it. */
export class ToolCalls {
  readonly #known = new BoundedMap<string, Known>({ max: MAX_CALLS })

  /** Content of a call so far. */
  contentOf({ toolCallId: id }: JsonObject): readonly JsonObject[] {
    return (typeof id === 'string' && this.#known.get(id)?.call.content) || []
  }

  /** Undefined for what names no call. */
  merge(given: JsonObject): { readonly call: AgentToolCall; readonly isNew: boolean } | undefined {
    const id = given.toolCallId
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID) return undefined
    const before = this.#known.get(id)
    const known = before ?? { call: blank(id), paths: new PathList() }
    known.paths.addEach(given.locations)
    known.paths.addEach(given.content)
    known.paths.addInput(given.rawInput)
    known.call = merged(known, given)
    if (before === undefined) this.#known.set(id, known)
    return { call: known.call, isNew: before === undefined }
  }
}

function blank(id: string): AgentToolCall {
  return {
    ...{ id, title: '', kind: undefined, status: 'pending' },
    ...{ paths: [], rawInput: undefined, content: [] },
  }
}

/** Merges an update into a call: its members replace those before; paths only grow, as a rule may have to hold for all of them. */
function merged({ call, paths }: Known, given: JsonObject): AgentToolCall {
  const { kind, status } = given
  const { title, input, content } = takenOf(given, call)
  const missing = Object.entries({ title, input, content }).flatMap(([what, { unseen }]) =>
    unseen === undefined ? [] : [[what, unseen] as const],
  )
  return {
    id: call.id,
    title: title.value,
    kind: KINDS.has(kind) ? (kind as ToolKind) : hasValue(kind) ? undefined : call.kind,
    status: STATES.has(status) ? (status as AgentToolCall['status']) : call.status,
    paths: paths.paths,
    rawInput: input.value,
    content: content.value,
    ...(missing.length === 0 ? {} : { unseen: Object.fromEntries(missing) }),
  }
}

/** The members that may be too large, as they were said now, or else before. */
function takenOf({ title, rawInput, content }: JsonObject, { unseen = {}, ...before }: AgentToolCall) {
  return {
    title: typeof title === 'string' ? titleOf(title) : { value: before.title, unseen: unseen.title },
    input: hasValue(rawInput) ? inputOf(rawInput) : { value: before.rawInput, unseen: unseen.input },
    content: Array.isArray(content) ? contentOf(content) : { value: before.content, unseen: unseen.content },
  }
}

/** The part of a member that was taken, and in words what was not. */
interface Taken<T> {
  readonly value: T
  readonly unseen: string | undefined
}

function hasValue(given: unknown): boolean {
  return given !== undefined && given !== null
}

/** Both ends of a long one: what matters may stand at either. */
function titleOf(title: string): Taken<string> {
  if (title.length <= MAX_TITLE) return { value: title, unseen: undefined }
  const half = MAX_TITLE / 2
  const value = `${title.slice(0, half).toWellFormed()} … ${title.slice(-half).toWellFormed()}`
  return { value, unseen: `${title.length - MAX_TITLE} characters of its title` }
}

function inputOf(given: unknown): Taken<JsonObject | undefined> {
  if (!isObject(given)) return { value: undefined, unseen: 'its input, which is no object' }
  if (!isHeavierThan(MAX_INPUT, given)) return { value: given, unseen: undefined }
  return { value: undefined, unseen: `its input, which has more than ${MAX_INPUT} bytes` }
}

function contentOf(content: readonly unknown[]): Taken<readonly JsonObject[]> {
  const blocks = content.filter(isObject).slice(0, MAX_BLOCKS)
  if (isHeavierThan(MAX_CONTENT, blocks))
    return { value: [], unseen: `its content, which has more than ${MAX_CONTENT} bytes` }
  const left = content.length - blocks.length
  return { value: blocks, unseen: left === 0 ? undefined : `${left} pieces of its content` }
}

/** True if a value read from JSON has more than so many characters; stops counting there. */
export function isHeavierThan(limit: number, value: unknown): boolean {
  let left = limit
  const open: unknown[] = [value]
  while (open.length > 0 && left >= 0) {
    const next = open.pop()
    left -= typeof next === 'string' ? next.length + 2 : 4
    if (typeof next !== 'object' || next === null) continue
    for (const [key, member] of Object.entries(next)) {
      left -= key.length + 3
      open.push(member)
    }
  }
  return left < 0
}

/** Collects the paths that a tool call is about, each once, as the agent wrote them. */
class PathList {
  readonly #found = new Set<string>()

  get paths(): readonly string[] {
    return [...this.#found]
  }

  add(value: unknown): void {
    if (typeof value !== 'string' || value === '') return
    const isListed = value.length <= MAX_PATH && this.#found.size < MAX_PATHS
    this.#found.add(isListed ? plain(value) : EVERYWHERE)
  }

  /** From `locations`, and content of type `diff`: objects with a `path`. */
  addEach(list: unknown): void {
    if (!Array.isArray(list)) return
    for (const each of list.slice(0, MAX_PATHS + 1)) if (isObject(each)) this.add(each.path)
    if (list.length > MAX_PATHS) this.#found.add(EVERYWHERE)
  }

  /** From whatever the tool of the agent was given. */
  addInput(input: unknown, depth = 0): void {
    if (typeof input !== 'object' || input === null) return
    if (depth > MAX_DEPTH) return void this.#found.add(EVERYWHERE)
    for (const [key, value] of Object.entries(input)) {
      // Some agents give a map from path to change.
      if (key.startsWith('/')) this.add(key)
      if (PATH_KEY.test(key)) for (const each of Array.isArray(value) ? value : [value]) this.add(each)
      this.addInput(value, depth + 1)
    }
  }
}

function plain(path: string): string {
  if (!path.startsWith('file://')) return path
  try {
    return fileURLToPath(path)
  } catch {
    return path
  }
}
