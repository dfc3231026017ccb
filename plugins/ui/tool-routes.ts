import type { JsonObject, PluginApi } from '../../src/plugin.ts'
import { isObject, estimateTokens } from '../../src/plugin.ts'
import type { ApiRequest, ApiRoutes } from './api.ts'
import { throwNotFound, ROW_LIMITS } from './api.ts'
import type { ToolDetail, ToolRow, Tools } from './types.ts'

const MAX_TITLE = 160

/** Routes for tools. */
export function createToolRoutes(control: PluginApi['control']): ApiRoutes {
  /** Token estimates by definition. */
  const estimates = new WeakMap<object, number>()
  const estimateToolTokens = (value: object): number => {
    const tokens = estimates.get(value) ?? estimateTokens(JSON.stringify(value))
    estimates.set(value, tokens)
    return tokens
  }
  const listTools = async (): Promise<ToolDetail[]> => {
    const { entries } = await control('catalogue.list', { kind: 'tools' })
    return (entries as Omit<ToolDetail, 'title' | 'tokens'>[]).map(entry => {
      return { ...entry, title: getTitle(entry.value), tokens: estimateToolTokens(entry.value) }
    })
  }
  return {
    'GET tools': { run: async question => createToolPage(await listTools(), question) },
    'GET tool': {
      async run({ text }) {
        const [name, server] = [text('name'), text('server')]
        const tools = await listTools()
        const match = tools.find(one => one.name === name && (server === undefined || one.upstream === server))
        return match ?? throwNotFound('tool not found')
      },
    },
    'POST refresh': {
      changesState: true,
      async run() {
        await control('inspect')
        return { tools: (await listTools()).length }
      },
    },
  }
}

function getTitle({ title, description, annotations }: JsonObject): string {
  const annotated = isObject(annotations) ? annotations.title : undefined
  const text = [title, annotated, description].find(one => typeof one === 'string' && one !== '')
  return typeof text === 'string' ? text.slice(0, MAX_TITLE) : ''
}

function createToolPage(all: readonly ToolDetail[], { text, count }: ApiRequest): Tools {
  const words = (text('search') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const server = text('server')
  const matching = all.filter(tool => {
    if (server !== undefined && tool.upstream !== server) return false
    const searched = `${tool.name} ${tool.title} ${String(tool.value.description ?? '')}`.toLowerCase()
    return words.every(word => searched.includes(word))
  })
  const offset = count('offset')
  return {
    tools: matching.slice(offset, offset + count('limit', ROW_LIMITS)).map(toToolRow),
    total: matching.length,
    tokens: matching.reduce((sum, { tokens }) => sum + tokens, 0),
    servers: summarizeServers(all),
  }
}

function toToolRow({ name, upstream, title, tokens, isShown }: ToolDetail): ToolRow {
  return { name, upstream, title, tokens, isShown }
}

function summarizeServers(all: readonly ToolDetail[]): Tools['servers'] {
  const byName = Map.groupBy(all, ({ upstream }) => upstream)
  return [...byName].map(([name, tools]) => {
    return { name, tools: tools.length, tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0) }
  })
}
