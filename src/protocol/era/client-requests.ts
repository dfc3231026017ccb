import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import type { ClientVersion } from '../methods.ts'
import { LATEST_LEGACY_VERSION, META } from '../methods.ts'
import { adaptBlock } from './content-blocks.ts'
import type { RpcError } from '../rpc-error.ts'
import { RPC } from '../rpc-error.ts'
import { isWebUrl } from '../uri.ts'

/** Maximum URLs in one text. */
const MAX_URLS = 16

/** First version with titled and multi-select enums. */
const FORMS_SINCE = '2025-11-25'

/** First version with tools in sampling and with several blocks per message. */
const BLOCKS_SINCE = '2025-11-25'

/** Client request from a server. */
interface ServerRequest {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** Client request in the client's form, and a function that converts its reply. */
interface AdaptedRequest {
  readonly ask: ServerRequest
  convertResult(result: JsonObject): JsonObject
}

/**
 * Converts a client request for a client; returns the same object if nothing changes. Check support first with
 * `findMissingCapabilities`.
 */
export function adaptRequest(ask: ServerRequest, reader: ClientVersion): AdaptedRequest {
  const { method, params } = ask
  if (params === undefined) return { ask, convertResult: passThrough }
  if (method === 'sampling/createMessage') {
    const fitted = adaptSampling(params, reader)
    return { ask: fitted === params ? ask : { method, params: fitted }, convertResult: passThrough }
  }
  if (method !== 'elicitation/create' || reader.version >= FORMS_SINCE) return { ask, convertResult: passThrough }
  const form = adaptForm(params)
  return {
    ask: { method, params: form.params },
    convertResult: result =>
      isObject(result.content) ? { ...result, content: form.convertContent(result.content) } : result,
  }
}

function passThrough(result: JsonObject): JsonObject {
  return result
}

/** Converts a client request for `inputRequests`, without legacy-only members. */
export function toModernAsk({ method, params }: ServerRequest): JsonObject {
  if (params === undefined) return { method, params: {} }
  const { elicitationId: _id, _meta, ...otherParams } = params
  const { progressToken: _token, [META.relatedTask]: _task, ...meta } = isObject(_meta) ? _meta : {}
  return { method, params: Object.keys(meta).length === 0 ? otherParams : { ...otherParams, _meta: meta } }
}

/** Converts a client's reply for a legacy server. */
export function adaptReply(method: string, result: JsonObject, version: string): JsonObject {
  return method === 'sampling/createMessage' ? toLegacyReply(result, version) : result
}

/** Converts a sampling request: tools only if supported, one block per message before 2025-11-25. */
function adaptSampling(params: JsonObject, { version, capabilities }: ClientVersion): JsonObject {
  const { sampling } = capabilities
  const hasTools = version >= BLOCKS_SINCE && isObject(sampling) && sampling.tools !== undefined
  const adapted = hasTools ? params : omitTools(params)
  if (version >= BLOCKS_SINCE || !Array.isArray(adapted.messages)) return adapted
  return {
    ...adapted,
    messages: adapted.messages.flatMap((message: unknown) => splitBlocks(message, version)),
  }
}

/** Returns true if a sampling request requires its tools; tool choice `none` does not. */
export function needsTools({ tools, toolChoice }: JsonObject): boolean {
  if (tools === undefined || (Array.isArray(tools) && tools.length === 0)) return false
  return !(isObject(toolChoice) && toolChoice.mode === 'none')
}

function omitTools(params: JsonObject): JsonObject {
  if (params.tools === undefined && params.toolChoice === undefined) return params
  const { tools: _tools, toolChoice: _choice, ...rest } = params
  return rest
}

function splitBlocks(message: unknown, version: string): unknown[] {
  if (!isObject(message)) return [message]
  const { content } = message
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content]
  return blocks.map(block => ({ ...message, content: isObject(block) ? adaptBlock(block, version) : block }))
}

/** Converts a sampling reply for a legacy server: one block before 2025-11-25. */
function toLegacyReply(result: JsonObject, version: string): JsonObject {
  if (version >= BLOCKS_SINCE) return result
  const { content } = result
  if (isObject(content)) return { ...result, content: adaptBlock(content, version) }
  if (!Array.isArray(content)) return result
  const blocks = content.filter(isObject).map(block => adaptBlock(block, version))
  const [only] = blocks
  return { ...result, content: blocks.length === 1 ? only : { type: 'text', text: describeBlocks(blocks) } }
}

function describeBlocks(blocks: readonly JsonObject[]): string {
  return blocks.map(({ type, text }) => (typeof text === 'string' ? text : `[${String(type)} omitted]`)).join('\n')
}

/** Form for an older client, and a function that converts the filled-in values. */
interface AdaptedForm {
  readonly params: JsonObject
  convertContent(content: JsonObject): JsonObject
}

interface FormOption {
  readonly value: string
  readonly title: string | undefined
}

/** Converts a form to 2025-06-18: titles in `enumNames`, and a multi-select as text with commas. */
function adaptForm(params: JsonObject): AdaptedForm {
  const { mode: _mode, requestedSchema, ...rest } = params
  if (!isObject(requestedSchema) || !isObject(requestedSchema.properties))
    return { params, convertContent: content => content }
  const lists = new Set<string>()
  const properties = mapMembers(requestedSchema.properties, (key, schema) => {
    if (!isObject(schema) || schema.type !== 'array') return adaptChoice(schema)
    lists.add(key)
    return toTextField(schema)
  })
  return {
    params: { ...rest, requestedSchema: { ...requestedSchema, properties } },
    convertContent: content =>
      mapMembers(content, (key, value) =>
        lists.has(key) && typeof value === 'string' ? value.split(/ *, */).filter(one => one !== '') : value,
      ),
  }
}

function mapMembers(object: JsonObject, convert: (key: string, value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, convert(key, value)]))
}

function toTextField({ title, description, items, default: chosen }: JsonObject): JsonObject {
  const { enum: values, anyOf, oneOf } = isObject(items) ? items : {}
  const options = parseOptions(anyOf) ?? parseOptions(oneOf) ?? []
  const names = Array.isArray(values)
    ? values.map(String)
    : options.map(({ value, title }) => (title === undefined ? value : `${value} (${title})`))
  const choices = `separated by commas: ${names.join(', ')}`
  return {
    type: 'string',
    ...(title === undefined ? {} : { title }),
    description: typeof description === 'string' ? `${description} – ${choices}` : choices,
    ...(Array.isArray(chosen) ? { default: chosen.join(', ') } : {}),
  }
}

/** Converts a single-select field, with titles in `enumNames`. */
function adaptChoice(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const { oneOf, ...rest } = schema
  const options = parseOptions(oneOf)
  return options === undefined ? schema : { ...rest, ...createChoice(options) }
}

function createChoice(options: readonly FormOption[]): JsonObject {
  return {
    type: 'string',
    enum: options.map(({ value }) => value),
    enumNames: options.map(({ value, title }) => title ?? value),
  }
}

function parseOptions(alternatives: unknown): readonly FormOption[] | undefined {
  if (!Array.isArray(alternatives)) return undefined
  const options = alternatives.flatMap((alternative: unknown) =>
    isObject(alternative) && typeof alternative.const === 'string'
      ? [{ value: alternative.const, title: readOptionalText(alternative.title) }]
      : [],
  )
  return options.length === alternatives.length ? options : undefined
}

function readOptionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns true if the client supports the URL elicitation error (2025-11-25 only). */
export function supportsUrlElicitationError({ era, version, capabilities }: ClientVersion): boolean {
  const { elicitation } = capabilities
  return era === 'legacy' && version >= LATEST_LEGACY_VERSION && isObject(elicitation) && isObject(elicitation.url)
}

/** Removes unsafe URLs from the error; returns a plain error if none remain. */
export function filterUnsafeUrls(error: RpcError): RpcError {
  const { elicitations } = isObject(error.data) ? error.data : {}
  if (!Array.isArray(elicitations)) return error
  const safe = (elicitations as unknown[]).filter(
    one => !isObject(one) || typeof one.url !== 'string' || isWebUrl(one.url),
  )
  if (safe.length === elicitations.length) return error
  return safe.length === 0
    ? { code: RPC.internal, message: error.message }
    : { ...error, data: { ...(error.data as object), elicitations: safe } }
}

/** Appends the URLs to the error message, for clients without URL elicitation. */
export function appendUrls(error: RpcError): RpcError {
  const elicitations = isObject(error.data) ? error.data.elicitations : undefined
  const urls = (Array.isArray(elicitations) ? (elicitations as unknown[]) : [])
    .map(elicitation => (isObject(elicitation) ? elicitation.url : undefined))
    .filter(isWebUrl)
    .slice(0, MAX_URLS)
  const text = urls.length === 0 ? '' : ` – open first: ${urls.join(' ')}`
  return { ...error, code: RPC.internal, message: error.message + text }
}
