import {
  answer,
  isObject,
  RPC,
  type Answer,
  type JsonObject,
  toolError,
  objectsIn,
} from '../../../src/plugin.ts'
import type { Meta } from './definitions.ts'

/** Errors that a model can mend by another name or URI, or that say that nothing of the kind is offered. */
const MENDABLE: ReadonlySet<number> = new Set([RPC.invalidParams, RPC.methodNotFound, RPC.legacyNoResource])

/**
 * Makes a tool's result of the answer to the request that the call meant. An error about what was asked for becomes a text that the model
 * reads; that of a rule or of a server in trouble stays.
 */
export function toolAnswer(meta: Meta, given: Answer, isRefusal: boolean): Answer {
  if ('error' in given) {
    const { code, message } = given.error
    return isRefusal || !MENDABLE.has(code) ? given : failed(message)
  }
  return 'result' in given ? said(CONTENT[meta](given.result.value())) : given
}

/** A result that tells a model what it did wrong. */
export function failed(text: string): Answer {
  return answer(toolError(text))
}

function said(content: readonly JsonObject[]): Answer {
  return answer({ content: content.length === 0 ? [textBlock('(empty)')] : content })
}

const CONTENT: Readonly<Record<Meta, (result: JsonObject) => JsonObject[]>> = {
  listResources: ({ resources, resourceTemplates, nextCursor }) => [
    textBlock(
      resourceTemplates === undefined
        ? listText('resources', resources, nextCursor)
        : listText('resourceTemplates', resourceTemplates, nextCursor),
    ),
  ],
  listPrompts: ({ prompts, nextCursor }) => [textBlock(listText('prompts', prompts, nextCursor))],
  readResource: ({ contents }) => contentsOf(contents),
  getPrompt: ({ description, messages }) => messagesOf(description, messages),
}

/** Members that tell a model what to ask for. */
const TELLING = ['uri', 'uriTemplate', 'name', 'title', 'description', 'mimeType', 'size', 'arguments']

function listText(member: string, list: unknown, nextCursor: unknown): string {
  const entries = objectsIn(list).map(entry =>
    Object.fromEntries(TELLING.flatMap(key => (entry[key] === undefined ? [] : [[key, entry[key]]]))),
  )
  return JSON.stringify({ [member]: entries, ...(nextCursor === undefined ? {} : { nextCursor }) })
}

/** One content is the answer; of several, each stands behind its URI. */
function contentsOf(list: unknown): JsonObject[] {
  const contents = objectsIn(list)
  return contents.flatMap(content =>
    contents.length > 1 && typeof content.uri === 'string'
      ? [textBlock(`${content.uri}:`), contentBlock(content)]
      : [contentBlock(content)],
  )
}

function contentBlock(content: JsonObject): JsonObject {
  const { text, blob, mimeType = '' } = content
  if (typeof text === 'string') return textBlock(text)
  const [, kind] = /^(image|audio)\//.exec(String(mimeType)) ?? []
  if (kind !== undefined && typeof blob === 'string') return { type: kind, data: blob, mimeType }
  return { type: 'resource', resource: content }
}

/** One message of the user is the answer; of several, each stands behind its role. */
function messagesOf(description: unknown, list: unknown): JsonObject[] {
  const messages = objectsIn(list)
  const isAlone = messages.length === 1 && messages[0]?.role === 'user'
  const head =
    typeof description === 'string' && description !== '' && !isAlone ? [textBlock(description)] : []
  const blocks = messages.flatMap(({ role, content }) => [
    ...(isAlone ? [] : [textBlock(`${String(role)}:`)]),
    ...(isObject(content) ? [content] : []),
  ])
  return [...head, ...blocks]
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text }
}
