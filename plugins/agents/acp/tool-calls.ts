import { isObject, type JsonObject } from '../../../src/plugin.ts'
import type { AgentToolCall } from '../agent-ports.ts'
import type { ToolKind } from '../settings-ports.ts'
import { PathList } from './paths.ts'
import { isHeavierThan } from './weight.ts'

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

interface Known {
  call: AgentToolCall
  readonly paths: PathList
}

/** The tool calls of one session, each with all that was said of it. */
export class ToolCalls {
  readonly #known = new Map<string, Known>()

  /** Undefined for what names no call. */
  merge(said: JsonObject): { readonly call: AgentToolCall; readonly isNew: boolean } | undefined {
    const id = said.toolCallId
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID) return undefined
    const before = this.#known.get(id)
    const known = before ?? { call: blank(id), paths: new PathList() }
    known.paths.addEach(said.locations)
    known.paths.addEach(said.content)
    known.paths.addInput(said.rawInput)
    known.call = merged(known, said)
    if (before === undefined) this.#keep(id, known)
    return { call: known.call, isNew: before === undefined }
  }

  #keep(id: string, known: Known): void {
    const oldest = this.#known.keys().next()
    if (this.#known.size >= MAX_CALLS && oldest.done !== true) this.#known.delete(oldest.value)
    this.#known.set(id, known)
  }
}

function blank(id: string): AgentToolCall {
  return {
    ...{ id, title: '', kind: undefined, status: 'pending' },
    ...{ paths: [], rawInput: undefined, content: [] },
  }
}

/** What is said again replaces what was said before; paths only grow, as a rule may have to hold for all of them. */
function merged(
  { call, paths }: Known,
  { title, kind, status, rawInput, content }: JsonObject,
): AgentToolCall {
  return {
    id: call.id,
    title: typeof title === 'string' ? title.slice(0, MAX_TITLE) : call.title,
    kind: KINDS.has(kind) ? (kind as ToolKind) : kind === undefined || kind === null ? call.kind : undefined,
    status: STATES.has(status) ? (status as AgentToolCall['status']) : call.status,
    paths: paths.paths,
    rawInput: inputOf(rawInput, call.rawInput),
    content: Array.isArray(content) ? lightOf(content.filter(isObject)) : call.content,
  }
}

function inputOf(said: unknown, before: JsonObject | undefined): JsonObject | undefined {
  if (said === undefined || said === null) return before
  return isObject(said) && !isHeavierThan(MAX_INPUT, said) ? said : undefined
}

function lightOf(content: readonly JsonObject[]): readonly JsonObject[] {
  const blocks = content.slice(0, MAX_BLOCKS)
  return isHeavierThan(MAX_CONTENT, blocks) ? [] : blocks
}
