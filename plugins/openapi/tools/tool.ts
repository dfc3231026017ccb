import type { JsonObject } from '../../../src/plugin.ts'
import { sanitizeText } from '../../../src/plugin.ts'
import { isJsonType } from '../document/parts.ts'
import type { ApiDocument, Operation, Plain } from '../document/types.ts'
import type { Argument } from './arguments.ts'
import { argumentsOf, inputSchemaOf } from './arguments.ts'
import { plainSchema } from './schema.ts'

/** One operation as a tool. */
export interface Tool {
  readonly name: string
  readonly operation: Operation
  readonly arguments: ReadonlyMap<string, Argument>
  /** Path of its server that the template is appended to. */
  readonly basePath: string
  /** Entry of `tools/list`. */
  readonly listed: JsonObject
  readonly hasOutputSchema: boolean
}

const MAX_DESCRIPTION = 2000
const OUTPUT = { isLoose: true, maxBytes: 4 * 1024 }
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const REPEATS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

interface Making {
  readonly name: string
  readonly basePath: string
  readonly hasOutput: boolean
}

/** Makes a tool of an operation. @throws Error where its references lead out of the document */
export function toolOf(
  operation: Operation,
  { references }: ApiDocument,
  { name, basePath, hasOutput }: Making,
): Tool {
  const all = argumentsOf(operation, references)
  const title = sanitizeText(operation.summary ?? '').slice(0, 200)
  const output = hasOutput ? outputSchemaOf(plainSchema(operation.result, references, OUTPUT)) : undefined
  const listed = {
    name,
    ...(title === '' ? {} : { title }),
    description: descriptionOf(operation),
    inputSchema: inputSchemaOf(all),
    ...(output === undefined ? {} : { outputSchema: output }),
    annotations: annotationsOf(operation, title),
  }
  return {
    ...{ name, operation, basePath, listed },
    arguments: new Map(all.map(argument => [argument.name, argument])),
    hasOutputSchema: output !== undefined,
  }
}

function descriptionOf({ method, path, summary, description, isDeprecated, body }: Operation): string {
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

function annotationsOf({ method }: Operation, title: string): Plain {
  return {
    ...(title === '' ? {} : { title }),
    readOnlyHint: READS.has(method),
    ...(method === 'DELETE' ? { destructiveHint: true } : {}),
    idempotentHint: REPEATS.has(method),
    openWorldHint: true,
  }
}

/** Results of tools are objects: anything else stands in one, under `result`. */
function outputSchemaOf(schema: Plain): Plain | undefined {
  if (Object.keys(schema).length === 0) return undefined
  const types = [schema.type].flat()
  const { type: _, ...rest } = schema
  if (types.includes('object')) return { type: 'object', ...rest }
  return { type: 'object', properties: { result: schema } }
}

/** The value of a JSON result as its tool gives it. */
export function structured(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : { result: value }
}
