import type { JsonObject, PluginApi } from '../../src/plugin.ts'
import { GatewayError, isObject, filterObjects, estimateTokens, toOneLine } from '../../src/plugin.ts'
import type { ApiRequest, ApiRoutes } from './api.ts'
import { throwNotFound, ROW_LIMITS } from './api.ts'
import type { SkillRow, ToolVisibility, ToolDetail, ToolRow, Tools } from './types.ts'

const MAX_TEXT = 160

/** Routes for tools and explanations. */
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
    return (entries as Omit<ToolDetail, keyof ToolTexts | 'tokens'>[]).map(entry => {
      return { ...entry, ...describeTool(entry.value), tokens: estimateToolTokens(entry.value) }
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
    'GET skills': {
      async run({ text }) {
        // Each server has a page, which begins at its name.
        const params = { cursor: text('server') ?? '' }
        const { result } = await control('client.request', { method: 'skills/list', params })
        return { skills: filterObjects(isObject(result) ? result.skills : []).map(toSkillRow) }
      },
    },
    'POST refresh': {
      changesState: true,
      async run() {
        await control('inspect')
        return { tools: (await listTools()).length }
      },
    },
    'POST explain': {
      body: { tool: 'string', arguments: 'object?', as: 'string?', client: 'string?' },
      run: ({ body }) => control('explain', { ...body }),
    },
    'POST shown': {
      body: { tool: 'string', server: 'string', client: 'string' },
      run: ({ body }) => describeToolForClient(control, body),
    },
  }
}

/** Describes how a client sees a tool, and which changes were made for it. */
async function describeToolForClient(
  control: PluginApi['control'],
  { tool, server, client }: JsonObject,
): Promise<ToolVisibility> {
  const isRequestedTool = (row: JsonObject): boolean => row.name === tool && row.upstream === server
  const { tools } = await control('listing', { client })
  const row = filterObjects(tools).find(isRequestedTool)
  const { changes } = await control('fit.report', { client }).catch(ignoreMissingFit)
  const { entries } = await control('catalogue.list', { kind: 'tools' })
  const { original } = filterObjects(entries).find(isRequestedTool) ?? {}
  const { notes = [], unfit } =
    filterObjects(changes).find(({ upstream, name }) => upstream === server && (name === tool || name === original)) ??
    {}
  return {
    client: String(client),
    isShown: row !== undefined,
    name: String(row?.shown ?? tool),
    notes: Array.isArray(notes) ? notes.map(String) : [],
    ...(typeof unfit === 'string' ? { why: unfit } : {}),
  }
}

function ignoreMissingFit(error: unknown): JsonObject {
  if (error instanceof GatewayError && error.code === 'GW_VERB_UNKNOWN') return {}
  throw error
}

type ToolTexts = Pick<ToolRow, 'title' | 'summary' | 'isReadOnly' | 'isDestructive'>

function describeTool({ title, description, annotations }: JsonObject): ToolTexts {
  const hints = isObject(annotations) ? annotations : {}
  const text = typeof description === 'string' ? toOneLine(description) : ''
  const titles = [title, hints.title, text].find(one => typeof one === 'string' && one !== '')
  return {
    title: String(titles ?? '').slice(0, MAX_TEXT),
    summary: (/^.*?[.!?](?=\s[^a-z]|$)|^.*/.exec(text)?.[0] ?? '').slice(0, MAX_TEXT),
    isReadOnly: hints.readOnlyHint === true,
    isDestructive: hints.destructiveHint === true && hints.readOnlyHint !== true,
  }
}

function toSkillRow({ uri, frontmatter, resources }: JsonObject): SkillRow {
  const { name, description } = isObject(frontmatter) ? frontmatter : {}
  return {
    ...{ uri: String(uri), name: toOneLine(String(name)) },
    description: toOneLine(String(description ?? '')).slice(0, MAX_TEXT),
    ...(Array.isArray(resources) ? { files: resources.length } : {}),
  }
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

function toToolRow(tool: ToolDetail): ToolRow {
  const { name, upstream, title, summary, isReadOnly, isDestructive, tokens, isShown } = tool
  return { name, upstream, title, summary, isReadOnly, isDestructive, tokens, isShown }
}

function summarizeServers(all: readonly ToolDetail[]): Tools['servers'] {
  const byName = Map.groupBy(all, ({ upstream }) => upstream)
  return [...byName].map(([name, tools]) => {
    return { name, tools: tools.length, tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0) }
  })
}
