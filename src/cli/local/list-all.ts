import type { JsonObject } from '../../protocol/json/json.ts'
import type { AskedGateway } from './ask-gateway.ts'

/** A tool as a client sees it. */
export interface ToolEntry extends JsonObject {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: JsonObject
}

/** Every page of `tools/list`. */
export async function listAllTools(connection: Pick<AskedGateway, 'request'>): Promise<ToolEntry[]> {
  const tools: ToolEntry[] = []
  let cursor: unknown
  do {
    const page = await connection.request(
      'tools/list',
      cursor === undefined ? {} : { cursor: String(cursor) },
    )
    tools.push(...(page['tools'] as ToolEntry[]))
    cursor = page['nextCursor']
  } while (cursor !== undefined)
  return tools
}
