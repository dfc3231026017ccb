import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import type { TestContext, TestTool } from '../../../src/testing/index.ts'
import type { Handler, HandlerObject } from './transcript.ts'

/** The functions that a script describes. */
export function handlers(script: Readonly<Record<string, Handler>> | undefined): Record<string, TestTool> | undefined {
  if (script === undefined) return undefined
  // Object.fromEntries, as names such as __proto__ must become members like any other.
  return Object.fromEntries(Object.entries(script).map(([name, handler]) => [name, tool(handler)]))
}

function tool(handler: Handler): TestTool {
  if (typeof handler === 'string') return () => handler
  return { ...handler.entry, run: (_args: JsonObject, context: TestContext) => perform(handler, context) }
}

async function perform(handler: HandlerObject, { params, signal, notify }: TestContext): Promise<unknown> {
  for (const { method, params: notified } of handler.notify ?? []) notify(method, { ...notified, ...tokenOf(params) })
  if (handler.hangs === true) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  if (handler.echo === true) return { content: [], echo: params }
  return handler.error ?? handler.result ?? 'done'
}

function tokenOf({ _meta }: JsonObject): JsonObject {
  return isObject(_meta) && _meta.progressToken !== undefined ? { progressToken: _meta.progressToken } : {}
}
