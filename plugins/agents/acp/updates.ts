import { isObject, type JsonObject } from '../../../src/plugin.ts'
import type { PermissionRequest, SessionUpdate } from '../types/agent.ts'
import type { ToolCalls } from './tool-calls.ts'

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
  usage_update: ({ sessionUpdate: _, ...usage }) => ({ is: 'usage', usage }),
}

function toolCall(update: JsonObject, calls: ToolCalls): SessionUpdate | undefined {
  const merged = calls.merge(update)
  return merged && { is: 'tool', ...merged }
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
  { toolCall: said, options }: JsonObject,
  calls: ToolCalls,
): (Omit<PermissionRequest, 'signal'> & { readonly isNew: boolean }) | undefined {
  const merged = isObject(said) ? calls.merge(said) : undefined
  if (merged === undefined) return undefined
  const offered = Array.isArray(options) ? options.filter(isObject).slice(0, 32) : []
  return { ...merged, options: offered.flatMap(optionOf) }
}

function optionOf({ optionId, name, kind }: JsonObject): PermissionRequest['options'] {
  if (typeof optionId !== 'string' || !OPTION_KINDS.has(kind)) return []
  const known = kind as PermissionRequest['options'][number]['kind']
  return [{ optionId, name: typeof name === 'string' ? name.slice(0, 256) : optionId, kind: known }]
}
