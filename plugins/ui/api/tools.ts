import { GatewayError, isObject, type JsonObject, tokensIn, objectsIn } from '../../../src/plugin.ts'
import type { Shown, ToolDetail, ToolRow, Tools } from '../types.ts'
import type { ApiHost } from './host.ts'
import { ANY, missing, MOST_ROWS, type Question, type Route, ROWS } from './route.ts'

interface Known {
  readonly name: string
  readonly upstream: string
  readonly original: string
  readonly value: ToolDetail['value']
  readonly isShown: boolean
  readonly withheld?: string
}

/** Routes that show tools, and ask what a call of one would meet. */
export function toolRoutes(host: ApiHost): Route[] {
  const rows = new ToolRows()
  const known = async (): Promise<ToolDetail[]> => {
    const { entries } = await host.control('catalogue.list', { kind: 'tools' })
    return rows.of(entries as Known[])
  }
  return [...listRoutes(known), ...askingRoutes(host, known)]
}

type ReadTools = () => Promise<ToolDetail[]>

function listRoutes(known: ReadTools): Route[] {
  return [
    {
      method: 'GET',
      name: 'tools',
      summary: 'The tools that servers have listed so far. No server is asked.',
      query: {
        search: 'Words in names and descriptions.',
        server: 'Name of the server.',
        offset: 'Leaves out so many.',
        limit: `At most so many, up to ${MOST_ROWS}.`,
      },
      answer: 'Tools, how many fit, and the servers that have them',
      run: async question => pageOf(await known(), question),
    },
    {
      method: 'GET',
      name: 'tool',
      summary: 'One tool, as its server describes it.',
      query: { name: 'Name of the tool.', server: 'Name of its server, where several have it.' },
      answer: 'The tool',
      async run({ text }) {
        const [name, server] = [text('name'), text('server')]
        const found = (await known()).find(
          one => one.name === name && (server === undefined || one.upstream === server),
        )
        return found ?? missing('no server has listed such a tool')
      },
    },
  ]
}

/** Those that ask servers, or the rules of other plugins: somebody has pressed a button. */
function askingRoutes({ control }: ApiHost, known: ReadTools): Route[] {
  return [
    {
      method: 'POST',
      name: 'refresh',
      summary: 'Asks all servers for their lists, which starts those that sleep.',
      acts: true,
      answer: 'How many tools there are now',
      async run() {
        await control('inspect')
        return { tools: (await known()).length }
      },
    },
    {
      method: 'POST',
      name: 'explain',
      summary: 'What a call would meet, step by step. No tool is called.',
      body: {
        tool: { type: 'string' },
        arguments: { type: 'object' },
        as: { type: 'string', description: 'A caller such as key:ci.' },
        client: { type: 'string', description: 'Name of a client, as it calls itself.' },
      },
      required: ['tool'],
      answer: 'The steps and their end',
      run: ({ body }) => control('explain', { ...body }),
    },
    {
      method: 'POST',
      name: 'shown',
      summary:
        'The form in which a client is shown a tool, as nobody in particular: its name there, and what was fitted.',
      body: {
        tool: { type: 'string', description: 'Real name of the tool.' },
        server: { type: 'string', description: 'Name of its server.' },
        client: { type: 'string', description: 'Name of a client, as it calls itself.' },
      },
      required: ['tool', 'server', 'client'],
      answer: 'Whether the client has it in its list, its name there, and why it is another one',
      run: ({ body }) => shownTo(control, body),
    },
  ]
}

/** Asks for the list that a client is shown, and what was made of the tool on the way. */
async function shownTo(control: ApiHost['control'], { tool, server, client }: JsonObject): Promise<Shown> {
  const isMeant = (row: JsonObject): boolean => row.name === tool && row.upstream === server
  const { tools } = await control('listing', { client })
  const row = objectsIn(tools).find(isMeant)
  const { changes } = await control('fit.report', { client }).catch(withoutFit)
  const { original } =
    (await control('catalogue.list', { kind: 'tools' }).then(({ entries }) =>
      objectsIn(entries).find(isMeant),
    )) ?? {}
  const change = objectsIn(changes).find(
    ({ upstream, name }) => upstream === server && (name === tool || name === original),
  )
  const { notes = [], unfit } = change ?? {}
  return {
    client: String(client),
    isShown: row !== undefined,
    name: String(row?.shown ?? tool),
    notes: Array.isArray(notes) ? notes.map(String) : [],
    ...(typeof unfit === 'string' ? { why: unfit } : {}),
  }
}

function withoutFit(error: unknown): JsonObject {
  if (error instanceof GatewayError && error.code === 'GW_VERB_UNKNOWN') return {}
  throw error
}

/** Rows of tools; what was worked out of a description is kept for as long as that. */
class ToolRows {
  readonly #tokens = new WeakMap<object, number>()

  of(entries: readonly Known[]): ToolDetail[] {
    return entries.map(entry => ({ ...entry, title: titleOf(entry.value), tokens: this.#tokensOf(entry) }))
  }

  #tokensOf({ value }: Known): number {
    let tokens = this.#tokens.get(value)
    if (tokens === undefined) this.#tokens.set(value, (tokens = tokensIn(JSON.stringify(value))))
    return tokens
  }
}

const LONGEST_TITLE = 160

function titleOf({ title, description, annotations }: ToolDetail['value']): string {
  const annotated = isObject(annotations) ? annotations.title : undefined
  const text = [title, annotated, description].find(one => typeof one === 'string' && one !== '')
  return typeof text === 'string' ? text.slice(0, LONGEST_TITLE) : ''
}

function pageOf(all: readonly ToolDetail[], { text, count }: Question): Tools {
  const words = (text('search') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const server = text('server')
  const found = all.filter(tool => {
    if (server !== undefined && tool.upstream !== server) return false
    if (words.length === 0) return true
    const searched = `${tool.name} ${tool.title} ${String(tool.value.description ?? '')}`.toLowerCase()
    return words.every(word => searched.includes(word))
  })
  const offset = count('offset', ANY)
  return {
    tools: found.slice(offset, offset + count('limit', ROWS)).map(rowOf),
    total: found.length,
    tokens: found.reduce((sum, { tokens }) => sum + tokens, 0),
    servers: serversOf(all),
  }
}

function rowOf({ name, upstream, title, tokens, isShown }: ToolDetail): ToolRow {
  return { name, upstream, title, tokens, isShown }
}

function serversOf(all: readonly ToolDetail[]): Tools['servers'] {
  const byName = new Map<string, { name: string; tools: number; tokens: number }>()
  for (const { upstream: name, tokens } of all) {
    const row = byName.get(name) ?? { name, tools: 0, tokens: 0 }
    row.tools++
    row.tokens += tokens
    byName.set(name, row)
  }
  return [...byName.values()]
}
