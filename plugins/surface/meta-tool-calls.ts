import type { Answer, Exchange, JsonObject, PluginApi } from '../../src/plugin.ts'
import { isObject, refuse, RPC, tryParseJson } from '../../src/plugin.ts'
import {
  answerDescribe,
  toolFailure,
  formatArgumentSchema,
  answerSearch,
  describeUnknownTool,
} from './meta-tool-answers.ts'
import type { MetaTool } from './meta-tools.ts'
import { isMetaToolName } from './meta-tools.ts'
import type { Scripts } from './code/scripts.ts'
import type { Surface } from './listing.ts'
import { isReadOnly } from './tool-signature.ts'

interface MetaToolCall {
  readonly surface: Surface
  readonly meta: MetaTool
  /** Error message; undefined for a valid call. */
  readonly problem?: string
  /** Requested tool name. */
  readonly toolName?: string
}

/** Call in a meta tool's arguments. */
interface InnerCall {
  readonly name: string
  readonly arguments: JsonObject
}

type SurfaceFor = (exchange: Exchange) => Promise<Surface | undefined>

const CALL_METHODS = ['tools/call']

/** Answers meta tools, and replaces `call_tool` by the call in its arguments. */
export function tapMetaTools({ hooks, slot }: PluginApi<never>, surfaceFor: SurfaceFor): void {
  const through = slot.exchange((): MetaToolCall | undefined => undefined)
  const scripts = slot.gateway((): { made?: Promise<Scripts> } => ({}))

  hooks.request.tap({ methods: CALL_METHODS, stage: 'unwrap' }, exchange => {
    const name = exchange.params?.name
    if (!isMetaToolName(name)) return undefined
    return surfaceFor(exchange).then(async surface => {
      const meta = surface?.findMetaTool(name)
      if (surface === undefined || meta === undefined) return undefined
      if (meta !== 'read' && meta !== 'call') {
        through.set(exchange, { surface, meta })
        return undefined
      }
      const inner = await parseInnerCall(exchange.params?.arguments, surface, meta)
      const target = typeof inner === 'string' ? { problem: inner } : { toolName: inner.name }
      through.set(exchange, { surface, meta, ...target })
      return typeof inner === 'string' ? undefined : inner
    })
  })
  // After limits, policies and filters: a search is a normal call.
  hooks.request.tap({ methods: CALL_METHODS, stage: 'transform', calls: true }, exchange => {
    const own = through.get(exchange)
    if (own === undefined || own.toolName !== undefined) return undefined
    if (own.problem !== undefined) return toolFailure(own.problem)
    if (own.meta === 'code') return loadScripts(scripts).then(all => all.runCode(own.surface, exchange))
    const args = exchange.params?.arguments
    return own.meta === 'search' ? answerSearch(own.surface, args) : answerDescribe(own.surface, args)
  })
  hooks.response.tap({ methods: CALL_METHODS, stage: 'transform' }, (answer, exchange) => {
    const own = through.get(exchange)
    if (own?.toolName === undefined || exchange.decidedBy !== undefined || !isFailure(answer)) return undefined
    return addSchemaToFailure(answer, own.surface, own.toolName)
  })
}

/** Refusals by plugins do not concern arguments. */
function isFailure(answer: Answer): boolean {
  if ('error' in answer) return answer.error.code === RPC.invalidParams
  return 'result' in answer && answer.result.isToolError
}

/** Loads the scripts once; they survive a reload. */
function loadScripts(cache: { made?: Promise<Scripts> }): Promise<Scripts> {
  return (cache.made ??= import('./code/scripts.ts').then(({ Scripts }) => new Scripts()))
}

/** Parses the inner call; returns an error message for an invalid one. Models may send arguments as a JSON string. */
async function parseInnerCall(args: unknown, surface: Surface, meta: MetaTool): Promise<InnerCall | string> {
  const { name, arguments: inner = {} } = isObject(args) ? args : {}
  if (typeof name !== 'string' || name === '') return '"name" must be a tool name'
  const read = typeof inner === 'string' ? tryParseJson(inner.trim() === '' ? '{}' : inner) : inner
  if (!isObject(read)) return '"arguments" must be an object'
  return (await checkInnerCall(surface, meta, name)) ?? { name, arguments: read }
}

/** Checks if the meta tool may make this call; policies decide about the call itself. */
async function checkInnerCall(surface: Surface, meta: MetaTool, name: string): Promise<string | undefined> {
  if (surface.findMetaTool(name) !== undefined) return `call ${name} directly`
  if (meta !== 'read') return undefined
  const entry = surface.find(name)
  if (entry === undefined) return describeUnknownTool(surface, name)
  return isReadOnly(entry.value) ? undefined : `${name} is not marked as read-only: call it with ${surface.names.call}`
}

/** Adds similar names or the argument schema to a failed call. */
function addSchemaToFailure(answer: Answer, surface: Surface, toolName: string): TeachingAnswer {
  const entry = surface.find(toolName)
  if ('error' in answer) return addSchemaToError(answer, surface, toolName)
  if (!('result' in answer) || entry === undefined) return undefined
  const { content } = answer.result.value()
  const list: unknown[] = Array.isArray(content) ? content : []
  if (!ARGUMENT_ERROR_WORDS.test(joinTexts(list).slice(0, 2000))) return undefined
  const text = formatArgumentSchema(entry)
  return text === ''
    ? undefined
    : { result: answer.result.edit(['content'], { content: [...list, { type: 'text', text }] }) }
}

type TeachingAnswer = Answer | undefined | Promise<Answer | undefined>

function addSchemaToError(
  answer: Extract<Answer, { error: unknown }>,
  surface: Surface,
  toolName: string,
): TeachingAnswer {
  const { message, data } = answer.error
  const entry = surface.find(toolName)
  if (entry === undefined)
    return message.startsWith('Unknown tool')
      ? describeUnknownTool(surface, toolName).then(text => refuse(RPC.invalidParams, text, data))
      : undefined
  const text = formatArgumentSchema(entry)
  return text === '' ? undefined : { ...answer, error: { ...answer.error, message: `${message}\n${text}` } }
}

function joinTexts(content: readonly unknown[]): string {
  return content.map(block => (isObject(block) && typeof block.text === 'string' ? block.text : '')).join(' ')
}

/** Words in error messages about arguments. */
const ARGUMENT_ERROR_WORDS = /argument|parameter|required|invalid|validation|schema|expected|missing|property|must be/i
