import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import type { TestContext, TestTool } from '../../../src/testing/index.ts'
import type { Deed, DeedObject } from './transcript.ts'

/** The functions that a script of deeds describes. */
export function deeds(
  script: Readonly<Record<string, Deed>> | undefined,
): Record<string, TestTool> | undefined {
  if (script === undefined) return undefined
  // Object.fromEntries, as names such as __proto__ must become members like any other.
  return Object.fromEntries(Object.entries(script).map(([name, deed]) => [name, tool(deed)]))
}

function tool(deed: Deed): TestTool {
  if (typeof deed === 'string') return () => deed
  return { ...deed.entry, run: (_args: JsonObject, context: TestContext) => perform(deed, context) }
}

async function perform(deed: DeedObject, { params, signal, notify }: TestContext): Promise<unknown> {
  for (const { method, params: notified } of deed.notify ?? [])
    notify(method, { ...notified, ...tokenOf(params) })
  if (deed.hangs === true)
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  if (deed.echo === true) return { content: [], echo: params }
  return deed.error ?? deed.result ?? 'done'
}

function tokenOf({ _meta }: JsonObject): JsonObject {
  return isObject(_meta) && _meta.progressToken !== undefined ? { progressToken: _meta.progressToken } : {}
}
