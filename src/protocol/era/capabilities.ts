import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import type { Era } from '../methods.ts'
import { needsTools } from './client-requests.ts'
import { TASKS } from './tasks.ts'

/** MCP Apps brings no methods of its own: it is resources and `_meta`, which pass whoever owns them. */
const APPS = 'io.modelcontextprotocol/ui'

/** The first legacy version with elicitation by URL and tools in sampling. */
const RICH_SINCE = '2025-11-25'

interface DeclaredCapabilities {
  readonly capabilities: JsonObject
  readonly version: string
  readonly era: Era
}

/**
 * Returns the capabilities for which a client can be asked, in the modern form whatever its era:
 * `{ elicitation?: { form?, url? }, sampling?: { tools?, context? }, roots?: {}, extensions? }`.
 */
export function normalizeCapabilities({ capabilities, version, era }: DeclaredCapabilities): JsonObject {
  const { roots, sampling, elicitation, extensions, experimental } = capabilities
  const isRich = era === 'modern' || version >= RICH_SINCE
  const neutral: JsonObject = {}
  if (isObject(experimental)) neutral.experimental = experimental
  if (isObject(roots)) neutral.roots = {}
  if (isObject(sampling)) neutral.sampling = isRich ? sampling : omitKey(sampling, 'tools')
  if (isObject(elicitation)) neutral.elicitation = isRich ? addDefaultForm(elicitation) : { form: {} }
  // Tasks are declared with each call that may become one, whether the client or we wait for it.
  if (isObject(extensions)) neutral.extensions = omitKey(extensions, TASKS)
  return neutral
}

/** The same for `initialize`. */
export function toLegacyCapabilities(neutral: JsonObject): JsonObject {
  return isObject(neutral.roots) ? { ...neutral, roots: { listChanged: true } } : neutral
}

/** Everything that any client could be asked for. */
export const ALL_CAPABILITIES: JsonObject = Object.freeze({
  roots: {},
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
})

/**
 * The capability that an ask needs and this client has not; undefined when it may be asked.
 * In the form of `data.requiredCapabilities` of error −32021.
 */
export function findMissingCapabilities(
  neutral: JsonObject,
  method: string,
  params: JsonObject | undefined,
): JsonObject | undefined {
  const needed = getRequiredCapabilities(method, params)
  return needed !== undefined && covers(neutral, needed) ? undefined : (needed ?? {})
}

function getRequiredCapabilities(method: string, params: JsonObject | undefined): JsonObject | undefined {
  if (method === 'roots/list') return { roots: {} }
  if (method === 'sampling/createMessage')
    return { sampling: params !== undefined && needsTools(params) ? { tools: {} } : {} }
  if (method === 'elicitation/create')
    return { elicitation: params?.mode === 'url' ? { url: {} } : { form: {} } }
  return undefined
}

function covers(has: JsonObject, needed: JsonObject): boolean {
  return Object.entries(needed).every(
    ([key, inner]) => isObject(has[key]) && covers(has[key], inner as JsonObject),
  )
}

/** Before there were modes, `{}` meant forms. */
function addDefaultForm(elicitation: JsonObject): JsonObject {
  return elicitation.form === undefined && elicitation.url === undefined
    ? { ...elicitation, form: {} }
    : elicitation
}

function omitKey(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))
}

/**
 * The extensions of a server that clients may be told of, in either era; undefined when there are none. The methods of
 * an unknown one find their way only where there is no other upstream; tasks are announced by the gateway, as its own.
 */
export function filterExtensions(capabilities: JsonObject, isOnly: boolean): JsonObject | undefined {
  if (!isObject(capabilities.extensions)) return undefined
  const passed = Object.entries(capabilities.extensions).filter(([name]) =>
    isOnly ? name !== TASKS : name === APPS,
  )
  return passed.length === 0 ? undefined : Object.fromEntries(passed)
}
