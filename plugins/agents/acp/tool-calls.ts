import { isObject, type JsonObject } from '../../../src/plugin.ts'
import type { AgentToolCall } from '../types/agent.ts'
import type { ToolKind } from '../types/settings.ts'
import { PathList } from './paths.ts'
import { isHeavierThan } from './json-size.ts'

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
function merged({ call, paths }: Known, said: JsonObject): AgentToolCall {
  const { kind, status } = said
  const { title, input, content } = takenOf(said, call)
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

/** What was taken of a member, and in words what was not. */
interface Taken<T> {
  readonly value: T
  readonly unseen: string | undefined
}

function hasValue(said: unknown): boolean {
  return said !== undefined && said !== null
}

/** Both ends of a long one: what matters may stand at either. */
function titleOf(title: string): Taken<string> {
  if (title.length <= MAX_TITLE) return { value: title, unseen: undefined }
  const half = MAX_TITLE / 2
  const value = `${title.slice(0, half).toWellFormed()} … ${title.slice(-half).toWellFormed()}`
  return { value, unseen: `${title.length - MAX_TITLE} characters of its title` }
}

function inputOf(said: unknown): Taken<JsonObject | undefined> {
  if (!isObject(said)) return { value: undefined, unseen: 'its input, which is no object' }
  if (!isHeavierThan(MAX_INPUT, said)) return { value: said, unseen: undefined }
  return { value: undefined, unseen: `its input, which has more than ${MAX_INPUT} bytes` }
}

function contentOf(content: readonly unknown[]): Taken<readonly JsonObject[]> {
  const blocks = content.filter(isObject).slice(0, MAX_BLOCKS)
  if (isHeavierThan(MAX_CONTENT, blocks))
    return { value: [], unseen: `its content, which has more than ${MAX_CONTENT} bytes` }
  const left = content.length - blocks.length
  return { value: blocks, unseen: left === 0 ? undefined : `${left} pieces of its content` }
}
