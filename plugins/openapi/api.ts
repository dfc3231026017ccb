import { globs, Payload, plainText } from '../../src/plugin.ts'
import { nameOperations } from './document/names.ts'
import { readDocument } from './document/read.ts'
import { ownPath, serverOf } from './document/server.ts'
import type { ApiDocument, Operation } from './document/types.ts'
import { urlOf } from './source.ts'
import type { OpenApiSpec } from './spec.ts'
import { type Tool, toolOf } from './tools/tool.ts'

/** An API that is ready to be called. */
export interface Api {
  readonly document: ApiDocument
  readonly server: URL
  readonly tools: ReadonlyMap<string, Tool>
  readonly list: Payload
  /** Operations that are no tools, though they were meant to be. */
  readonly leftOut: readonly string[]
  readonly instructions: string | undefined
}

/** Names of 64 letters are what all clients take, the prefix included. */
const MAX_NAME = 64
const MIN_NAME = 16
/** Time after which others have a turn. */
const TURN_MS = 10
const MAX_INSTRUCTIONS = 1000

/** Makes tools of a document's operations. @throws Error that says why it cannot be used */
export async function apiOf(spec: OpenApiSpec, name: string, data: unknown): Promise<Api> {
  const document = readDocument(data)
  const server = serverOf(document.servers, { url: urlOf(spec), server: spec.server })
  const prefix = spec.prefix ?? `${name}__`
  const names = nameOperations(document.operations, Math.max(MIN_NAME, MAX_NAME - prefix.length))
  const isWanted = filterOf(spec)
  const tools = new Map<string, Tool>()
  const leftOut = [...document.leftOut]
  let since = performance.now()
  for (const [operation, tool] of names) {
    if (!isWanted(operation, tool)) continue
    if (performance.now() - since > TURN_MS) {
      await new Promise(resolve => setImmediate(resolve))
      since = performance.now()
    }
    const why = addTool(tools, { operation, name: tool, spec, document, server })
    if (why !== undefined) leftOut.push(`${operation.method} ${operation.path}: ${why}`)
  }
  const listed = [...tools.values()].map(tool => tool.listed)
  const list = { resultType: 'complete', tools: listed, ttlMs: 300_000, cacheScope: 'public' }
  return {
    ...{ document, server, tools, leftOut },
    list: Payload.of(list, 'modern'),
    instructions: instructionsOf(document),
  }
}

interface Adding {
  readonly operation: Operation
  readonly name: string
  readonly spec: OpenApiSpec
  readonly document: ApiDocument
  readonly server: URL
}

/** Adds a tool, or says why there is none. */
function addTool(
  tools: Map<string, Tool>,
  { operation, name, spec, document, server }: Adding,
): string | undefined {
  const from = { url: urlOf(spec), server: spec.server }
  const basePath = ownPath(operation.servers, server, from)
  if (basePath === undefined) return 'it is on another server; write the one of all as "server"'
  if (tools.has(name)) return 'another one has its name'
  try {
    tools.set(name, toolOf(operation, document, { name, basePath, hasOutput: spec.outputSchemas }))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function filterOf({ operations = {} }: OpenApiSpec): (operation: Operation, name: string) => boolean {
  const { allow, deny = [], tags } = operations
  const isAllowed = allow === undefined ? () => true : globs(allow)
  const isDenied = globs(deny)
  return (operation, name) => {
    const texts = [name, operation.id ?? name, `${operation.method} ${operation.path}`]
    if (tags !== undefined && !operation.tags.some(tag => tags.includes(tag))) return false
    return texts.some(isAllowed) && !texts.some(isDenied)
  }
}

function instructionsOf({ title, description }: ApiDocument): string | undefined {
  if (description === undefined) return undefined
  return `${title}: ${plainText(description)}`.slice(0, MAX_INSTRUCTIONS)
}
