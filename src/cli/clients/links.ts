import type { JsonObject } from '../../protocol/json/json.ts'
import { entryOf, type Client, type EntryValues } from './clients.ts'

/** A way to add the gateway to a client by hand: a link or a command where the client has one, and the text for its settings. */
export interface Export {
  readonly client: string
  readonly link?: string
  readonly snippet: JsonObject | undefined
}

export function exported(client: Client, values: EntryValues): Export {
  const entry = entryOf(client, values)
  const link = entry === undefined ? undefined : linkFor(client.name, values.name, entry)
  const snippet =
    entry === undefined
      ? undefined
      : (client.key.reduceRight<unknown>(
          (inner, key) => ({ [key]: inner }),
          client.list === true ? [entry] : { [values.name]: entry },
        ) as JsonObject)
  return { client: client.name, ...(link === undefined ? {} : { link }), snippet }
}

function linkFor(client: string, name: string, entry: JsonObject): string | undefined {
  if (client === 'cursor') {
    const config = encodeURIComponent(Buffer.from(JSON.stringify(entry)).toString('base64'))
    return `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${config}`
  }
  if (client !== 'vscode' && client !== 'vscode-insiders') return undefined
  const scheme = client === 'vscode' ? 'vscode' : 'vscode-insiders'
  return `${scheme}:mcp/install?${encodeURIComponent(JSON.stringify({ name, ...entry }))}`
}
