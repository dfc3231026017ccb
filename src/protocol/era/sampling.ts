import { isObject, type JsonObject } from '../json/json.ts'
import { blockFor } from './blocks.ts'
import type { Reader } from './reader.ts'

/** The first version with tools in sampling, and with messages of many blocks. */
const BLOCKS_SINCE = '2025-11-25'

/** An ask for the client's model as this client reads it: tools only where it has them, one block to a message before 2025-11-25. */
export function samplingFor(params: JsonObject, { version, capabilities }: Reader): JsonObject {
  const { sampling } = capabilities
  const hasTools = version >= BLOCKS_SINCE && isObject(sampling) && sampling.tools !== undefined
  const asked = hasTools ? params : withoutTools(params)
  if (version >= BLOCKS_SINCE || !Array.isArray(asked.messages)) return asked
  return {
    ...asked,
    messages: asked.messages.flatMap((message: unknown) => singly(message, version)),
  }
}

/** Whether an ask cannot be met without the tools it names: none may be used where the choice is `none`. */
export function needsTools({ tools, toolChoice }: JsonObject): boolean {
  if (tools === undefined || (Array.isArray(tools) && tools.length === 0)) return false
  return !(isObject(toolChoice) && toolChoice.mode === 'none')
}

function withoutTools(params: JsonObject): JsonObject {
  if (params.tools === undefined && params.toolChoice === undefined) return params
  const { tools: _tools, toolChoice: _choice, ...rest } = params
  return rest
}

function singly(message: unknown, version: string): unknown[] {
  if (!isObject(message)) return [message]
  const { content } = message
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content]
  return blocks.map(block => ({ ...message, content: isObject(block) ? blockFor(block, version) : block }))
}

/** What the model said, as a legacy server of this version reads it: as one block before 2025-11-25. */
export function toLegacyReply(result: JsonObject, version: string): JsonObject {
  if (version >= BLOCKS_SINCE) return result
  const { content } = result
  if (isObject(content)) return { ...result, content: blockFor(content, version) }
  if (!Array.isArray(content)) return result
  const blocks = content.filter(isObject).map(block => blockFor(block, version))
  const [only] = blocks
  return { ...result, content: blocks.length === 1 ? only : { type: 'text', text: wordsOf(blocks) } }
}

function wordsOf(blocks: readonly JsonObject[]): string {
  return blocks
    .map(({ type, text }) => (typeof text === 'string' ? text : `[${String(type)} left out]`))
    .join('\n')
}
