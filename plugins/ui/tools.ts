import type { JsonObject } from '../../src/plugin.ts'
import { GatewayError, isObject, filterObjects, estimateTokens } from '../../src/plugin.ts'
import type { Question, Routes } from './api.ts'
import { missing, ROWS } from './api.ts'
import type { RoutesDeps } from './overview.ts'
import type { Shown, ToolDetail, ToolRow, Tools } from './types.ts'

const MAX_TITLE = 160

/** Routes that show tools, and explain a call of one. */
export function toolRoutes({ control }: RoutesDeps): Routes {
  /** Estimates by the definition of a tool. */
  const estimates = new WeakMap<object, number>()
  const tokensOf = (value: object): number => {
    const tokens = estimates.get(value) ?? estimateTokens(JSON.stringify(value))
    estimates.set(value, tokens)
    return tokens
  }
  const listed = async (): Promise<ToolDetail[]> => {
    const { entries } = await control('catalogue.list', { kind: 'tools' })
    return (entries as Omit<ToolDetail, 'title' | 'tokens'>[]).map(entry => {
      return { ...entry, title: titleOf(entry.value), tokens: tokensOf(entry.value) }
    })
  }
  return {
    'GET tools': { run: async question => pageOf(await listed(), question) },
    'GET tool': {
      async run({ text }) {
        const [name, server] = [text('name'), text('server')]
        const tools = await listed()
        const found = tools.find(
          one => one.name === name && (server === undefined || one.upstream === server),
        )
        return found ?? missing('no server has listed such a tool')
      },
    },
    'POST refresh': {
      acts: true,
      async run() {
        await control('inspect')
        return { tools: (await listed()).length }
      },
    },
    'POST explain': {
      body: { tool: 'string', arguments: 'object?', as: 'string?', client: 'string?' },
      run: ({ body }) => control('explain', { ...body }),
    },
    'POST shown': {
      body: { tool: 'string', server: 'string', client: 'string' },
      run: ({ body }) => shownTo(control, body),
    },
  }
}

/** Asks for the list that a client is shown, and for what was changed in the tool. */
async function shownTo(control: RoutesDeps['control'], { tool, server, client }: JsonObject): Promise<Shown> {
  const isMeant = (row: JsonObject): boolean => row.name === tool && row.upstream === server
  const { tools } = await control('listing', { client })
  const row = filterObjects(tools).find(isMeant)
  const { changes } = await control('fit.report', { client }).catch(withoutFit)
  const { entries } = await control('catalogue.list', { kind: 'tools' })
  const { original } = filterObjects(entries).find(isMeant) ?? {}
  const { notes = [], unfit } =
    filterObjects(changes).find(
      ({ upstream, name }) => upstream === server && (name === tool || name === original),
    ) ?? {}
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

function titleOf({ title, description, annotations }: JsonObject): string {
  const annotated = isObject(annotations) ? annotations.title : undefined
  const text = [title, annotated, description].find(one => typeof one === 'string' && one !== '')
  return typeof text === 'string' ? text.slice(0, MAX_TITLE) : ''
}

function pageOf(all: readonly ToolDetail[], { text, count }: Question): Tools {
  const words = (text('search') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const server = text('server')
  const found = all.filter(tool => {
    if (server !== undefined && tool.upstream !== server) return false
    const searched = `${tool.name} ${tool.title} ${String(tool.value.description ?? '')}`.toLowerCase()
    return words.every(word => searched.includes(word))
  })
  const offset = count('offset')
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
  const byName = Map.groupBy(all, ({ upstream }) => upstream)
  return [...byName].map(([name, tools]) => {
    return { name, tools: tools.length, tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0) }
  })
}
