import type { JsonObject } from '../../../src/plugin.ts'
import { sanitizeText } from '../../../src/plugin.ts'
import { isJsonType } from '../document/operation-parts.ts'
import type { ApiDocument, Operation, PlainObject } from '../document/types.ts'
import type { ToolArgument } from './input-schema.ts'
import { listArguments, createInputSchema } from './input-schema.ts'
import { convertSchema } from './convert-schema.ts'

/** An operation as a tool. */
export interface OpenApiTool {
  readonly name: string
  readonly operation: Operation
  readonly arguments: ReadonlyMap<string, ToolArgument>
  /** Its server's path prefix. */
  readonly basePath: string
  /** Entry in `tools/list`. */
  readonly definition: JsonObject
  readonly hasOutputSchema: boolean
}

const MAX_DESCRIPTION = 2000
const OUTPUT = { isLoose: true, maxBytes: 4 * 1024 }
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

interface ToolOptions {
  readonly name: string
  readonly basePath: string
  readonly hasOutput: boolean
}

/** Creates a tool from an operation. @throws Error if a reference cannot be resolved */
export function createTool(
  operation: Operation,
  { references }: ApiDocument,
  { name, basePath, hasOutput }: ToolOptions,
): OpenApiTool {
  const all = listArguments(operation, references)
  const title = sanitizeText(operation.summary ?? '').slice(0, 200)
  const output = hasOutput ? createOutputSchema(convertSchema(operation.result, references, OUTPUT)) : undefined
  const definition = {
    name,
    ...(title === '' ? {} : { title }),
    description: formatDescription(operation),
    inputSchema: createInputSchema(all),
    ...(output === undefined ? {} : { outputSchema: output }),
    annotations: createAnnotations(operation, title),
  }
  return {
    ...{ name, operation, basePath, definition },
    arguments: new Map(all.map(argument => [argument.name, argument])),
    hasOutputSchema: output !== undefined,
  }
}

function formatDescription({ method, path, summary, description, isDeprecated, body }: Operation): string {
  const isRaw = body !== undefined && !isJsonType(body.contentType)
  const parts = [
    isDeprecated ? 'Deprecated.' : undefined,
    summary,
    description === summary ? undefined : description,
    isRaw ? `The body is sent as ${body.contentType}.` : undefined,
  ]
  const text = sanitizeText(parts.filter(part => part !== undefined && part !== '').join('\n\n'))
  return (text === '' ? sanitizeText(`${method} ${path}`) : text).slice(0, MAX_DESCRIPTION)
}

function createAnnotations({ method }: Operation, title: string): PlainObject {
  return {
    ...(title === '' ? {} : { title }),
    readOnlyHint: SAFE_METHODS.has(method),
    ...(method === 'DELETE' ? { destructiveHint: true } : {}),
    idempotentHint: IDEMPOTENT_METHODS.has(method),
    openWorldHint: true,
  }
}

/** Tool results are objects: other values are wrapped as `result`. */
function createOutputSchema(schema: PlainObject): PlainObject | undefined {
  if (Object.keys(schema).length === 0) return undefined
  const types = [schema.type].flat()
  const { type: _, ...rest } = schema
  if (types.includes('object')) return { type: 'object', ...rest }
  return { type: 'object', properties: { result: schema } }
}

/** Wraps values that are no objects as `result`. */
export function toStructuredContent(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : { result: value }
}
