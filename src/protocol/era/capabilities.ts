import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import type { Era } from '../methods.ts'
import { SKILLS } from '../methods.ts'
import { needsTools } from './client-requests.ts'
import { TASKS } from './convert.ts'

/** MCP Apps adds no methods, only resources and `_meta`, which are forwarded from any upstream. */
const APPS = 'io.modelcontextprotocol/ui'
/** Extensions of several servers that pass: their targets are known. */
const SHARED = [APPS, SKILLS]

/** First legacy version with URL elicitation and with tools in sampling. */
const RICH_SINCE = '2025-11-25'

interface DeclaredCapabilities {
  readonly capabilities: JsonObject
  readonly version: string
  readonly era: Era
}

/**
 * Normalizes client capabilities to the modern form: `{ elicitation?: { form?, url? }, sampling?: { tools?, context?
 * }, roots?: {}, extensions? }`.
 */
export function normalizeCapabilities({ capabilities, version, era }: DeclaredCapabilities): JsonObject {
  const { roots, sampling, elicitation, extensions, experimental } = capabilities
  const isRich = era === 'modern' || version >= RICH_SINCE
  const neutral: JsonObject = {}
  if (isObject(experimental)) neutral.experimental = experimental
  if (isObject(roots)) neutral.roots = {}
  if (isObject(sampling)) neutral.sampling = isRich ? sampling : omitKey(sampling, 'tools')
  if (isObject(elicitation)) neutral.elicitation = isRich ? addDefaultForm(elicitation) : { form: {} }
  // Tasks are declared per call, whether the client or the gateway waits for the result.
  if (isObject(extensions)) neutral.extensions = omitKey(extensions, TASKS)
  return neutral
}

/** Converts normalized capabilities for `initialize`. */
export function toLegacyCapabilities(neutral: JsonObject): JsonObject {
  return isObject(neutral.roots) ? { ...neutral, roots: { listChanged: true } } : neutral
}

/** All client capabilities. */
export const ALL_CAPABILITIES: JsonObject = Object.freeze({
  roots: {},
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
})

/**
 * Returns the capabilities that a client request needs and the client lacks, as in `data.requiredCapabilities` of
 * error −32021; undefined if none.
 */
export function findMissingCapabilities(
  neutral: JsonObject,
  method: string,
  params: JsonObject | undefined,
): JsonObject | undefined {
  const needed = getRequiredCapabilities(method, params)
  return needed !== undefined && covers(neutral, needed) ? undefined : (needed ?? {})
}

/** True if the client can show forms. */
export function supportsForms(client: DeclaredCapabilities): boolean {
  return findMissingCapabilities(normalizeCapabilities(client), 'elicitation/create', { mode: 'form' }) === undefined
}

function getRequiredCapabilities(method: string, params: JsonObject | undefined): JsonObject | undefined {
  if (method === 'roots/list') return { roots: {} }
  if (method === 'sampling/createMessage')
    return { sampling: params !== undefined && needsTools(params) ? { tools: {} } : {} }
  if (method === 'elicitation/create') return { elicitation: params?.mode === 'url' ? { url: {} } : { form: {} } }
  return undefined
}

function covers(has: JsonObject, needed: JsonObject): boolean {
  return Object.entries(needed).every(([key, inner]) => isObject(has[key]) && covers(has[key], inner as JsonObject))
}

/** Before modes existed, `{}` meant form mode. */
function addDefaultForm(elicitation: JsonObject): JsonObject {
  return elicitation.form === undefined && elicitation.url === undefined ? { ...elicitation, form: {} } : elicitation
}

function omitKey(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))
}

/**
 * Returns the server extensions to announce to clients; undefined if none. Methods of an extension can only be routed
 * if one upstream has it; the gateway announces tasks itself.
 */
export function filterExtensions(
  capabilities: JsonObject,
  hasOneUpstream: (extension: string) => boolean,
): JsonObject | undefined {
  if (!isObject(capabilities.extensions)) return undefined
  const passed = Object.entries(capabilities.extensions).filter(
    ([name]) => SHARED.includes(name) || (name !== TASKS && hasOneUpstream(name)),
  )
  return passed.length === 0 ? undefined : Object.fromEntries(passed)
}
