import { isObject, type JsonObject } from '../json/json.ts'
import { TASKS } from './tasks.ts'

/** MCP Apps brings no methods of its own: it is resources and `_meta`, which pass whoever owns them. */
const APPS = 'io.modelcontextprotocol/ui'

/**
 * The extensions of a server that clients may be told of, in either era; undefined when there are none. The methods of
 * an unknown one find their way only where there is no other upstream; tasks are announced by the gateway, as its own.
 */
export function passedExtensions(capabilities: JsonObject, isOnly: boolean): JsonObject | undefined {
  if (!isObject(capabilities.extensions)) return undefined
  const passed = Object.entries(capabilities.extensions).filter(([name]) =>
    isOnly ? name !== TASKS : name === APPS,
  )
  return passed.length === 0 ? undefined : Object.fromEntries(passed)
}
