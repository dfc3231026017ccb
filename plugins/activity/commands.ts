import type { CommandCall, Config, JsonObject, PluginCommands } from '../../src/plugin.ts'
import {
  formatBytes,
  formatDuration,
  GatewayError,
  gatewayError,
  isObject,
  toOneLine,
  parseDuration,
  estimateTokens,
  tryParseJson,
} from '../../src/plugin.ts'
import type { StoredCall, UsageRow, CallFilter } from './writer.ts'

type ActivityOptions = NonNullable<Config['activity']>

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 10_000
const FOLLOW_MS = 1000
const PAGES = 100

const SINCE = {
  value: '<time>',
  summary: 'Start time: a duration before now such as 1h or 2d, or a date.',
}

export const commands: PluginCommands = {
  activity: {
    summary: 'Show recent calls.',
    description:
      'Reads the activity database; a running gateway first writes its pending records. Prints the newest calls, oldest first.',
    examples: [
      'gateway activity',
      'gateway activity --tool "files__*" --failed --since 1d',
      'gateway activity --follow --json',
    ],
    gateway: 'running',
    flags: {
      follow: { type: 'boolean', char: 'f', summary: 'Keep printing new calls.' },
      tool: { value: '<name>', summary: 'Tool name; * is a wildcard.' },
      principal: { value: '<subject>', summary: 'Subject of the caller.' },
      failed: { type: 'boolean', summary: 'Only failed or refused calls.' },
      since: SINCE,
      limit: { value: '<number>', summary: `Number of calls; default ${DEFAULT_LIMIT}.` },
    },
    async run(call) {
      const path = await resolveActivityFile(call)
      const filter = parseFilter(call)
      await flushGateway(call)
      const { queryCalls } = await import('./writer.ts')
      const calls = queryCalls(path, filter).reverse()
      if (call.flags.follow !== true)
        return call.print({ calls: calls.map(formatCallJson) }, () => formatCalls(calls, call))
      await followCalls(calls, call, after => queryCalls(path, { ...filter, after, limit: MAX_LIMIT }))
    },
  },
  usage: {
    summary: 'Show tool usage, estimated tokens, and unused tools.',
    description: 'Tokens are estimated from bytes. Unused tools are only known if the gateway is running.',
    examples: ['gateway usage', 'gateway usage --since 1d --json'],
    gateway: 'running',
    flags: { since: SINCE },
    async run(call) {
      const path = await resolveActivityFile(call)
      const listed = await flushGateway(call, listTools)
      const { queryUsage } = await import('./writer.ts')
      const tools = queryUsage(path, parseSince(call.flags.since) ?? 0)
      const called = new Set(tools.map(({ name }) => name))
      const uncalled = listed?.filter(name => !called.has(name))
      const rows = tools.map(row => ({
        ...row,
        tokens: estimateCallTokens(row),
        last: new Date(row.last).toISOString(),
      }))
      call.print({ tools: rows, ...(uncalled === undefined ? {} : { never: uncalled }) }, () =>
        formatUsage(tools, uncalled, call),
      )
    },
  },
}

async function resolveActivityFile(call: CommandCall): Promise<string> {
  const { options, directory } = await call.load()
  if (!isObject(options)) throw gatewayError('GW_NOT_CONFIGURED', { keys: 'activity' })
  const { resolveDatabasePath } = await import('./writer.ts')
  return resolveDatabasePath(options as unknown as ActivityOptions, directory)
}

/** Makes a running gateway write its pending records, then runs `more`. Returns undefined if no gateway runs. */
async function flushGateway<T>(
  { withGateway }: CommandCall,
  more?: (ask: (verb: string, params?: JsonObject) => Promise<JsonObject>) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withGateway('running', async ask => {
      await ask('activity.flush')
      return more?.(ask)
    })
  } catch (error) {
    if (error instanceof GatewayError && NOT_ASKED.has(error.code)) return undefined
    throw error
  }
}

/** No running gateway, or one that started without `activity`. */
const NOT_ASKED: ReadonlySet<string> = new Set(['GW_NO_GATEWAY', 'GW_VERB_UNKNOWN'])

async function listTools(ask: (verb: string, params?: JsonObject) => Promise<JsonObject>): Promise<string[]> {
  const names: string[] = []
  let cursor: unknown
  for (let page = 0; page < PAGES; page++) {
    const params = typeof cursor === 'string' ? { cursor } : {}
    const { result } = await ask('client.request', { method: 'tools/list', params })
    if (!isObject(result) || !Array.isArray(result.tools)) break
    names.push(...result.tools.filter(isObject).map(({ name }) => String(name)))
    cursor = result.nextCursor
    if (cursor === undefined) break
  }
  return names
}

function parseFilter({ flags }: CommandCall): CallFilter {
  const limit = flags.limit === undefined ? DEFAULT_LIMIT : Number(flags.limit)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw gatewayError('GW_USAGE', { what: `--limit must be a number from 1 to ${MAX_LIMIT}` })
  return {
    tool: flags.tool as string | undefined,
    principal: flags.principal as string | undefined,
    failed: flags.failed === true,
    since: parseSince(flags.since),
    limit,
  }
}

/** Parses a duration such as `2d`, or a date. */
function parseSince(flag: CommandCall['flags'][string]): number | undefined {
  if (typeof flag !== 'string') return undefined
  const date = Date.parse(flag)
  try {
    return Date.now() - parseDuration(flag)
  } catch {
    if (Number.isFinite(date)) return date
    throw gatewayError('GW_USAGE', {
      what: `--since must be a duration such as 1h or 2d, or a date: ${flag}`,
    })
  }
}

async function followCalls(
  first: readonly StoredCall[],
  call: CommandCall,
  next: (after: number) => StoredCall[],
): Promise<void> {
  let isOver = false
  const leave = call.onInterrupt(() => (isOver = true))
  let last = 0
  const printCalls = (calls: readonly StoredCall[]): void => {
    for (const one of calls) {
      call.printNext(formatCallJson(one), () => formatCalls([one], call))
      last = one.id
    }
  }
  printCalls(first)
  while (!isOver) {
    await new Promise(resolve => setTimeout(resolve, FOLLOW_MS))
    await flushGateway(call)
    printCalls(next(last))
  }
  leave()
}

/** Formats a call as JSON, without empty members. */
function formatCallJson({ at, principal, scopes, shape, args, times, ...call }: StoredCall): JsonObject {
  const all = {
    ...call,
    time: new Date(at).toISOString(),
    principal: formatCaller(principal),
    scopes: scopes === '' ? '' : scopes.split(' '),
    shape: parseColumn(shape),
    arguments: parseColumn(args),
    timing: parseColumn(times),
  }
  return Object.fromEntries(
    Object.entries(all).filter(([key, value]) => value !== '' && (key !== 'code' || value !== 0)),
  )
}

function parseColumn(text: string): unknown {
  return tryParseJson(text) ?? text
}

function formatCaller(principal: string): string {
  const parts = parseColumn(principal)
  return Array.isArray(parts) ? String(parts[2]) : principal
}

function formatCalls(calls: readonly StoredCall[], { table, out }: CommandCall): string[] {
  if (calls.length === 0) return [out.paint('dim', 'no calls')]
  return table(
    calls.map(({ at, outcome, ms, principal, client, name, upstream, bytesIn, bytesOut, code }) => [
      out.paint('dim', new Date(at).toISOString().replace('T', ' ').slice(0, 19)),
      out.paint(outcome === 'ok' ? 'green' : 'red', code === 0 ? outcome : `${outcome} ${code}`),
      `${Math.round(ms)} ms`,
      toOneLine(formatCaller(principal)),
      toOneLine(client),
      toOneLine(name),
      toOneLine(upstream),
      `${bytesIn} → ${bytesOut} B`,
    ]),
  )
}

function formatSize(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : formatBytes(bytes)
}

function estimateCallTokens({ bytesIn, bytesOut }: Pick<UsageRow, 'bytesIn' | 'bytesOut'>): number {
  return estimateTokens(bytesIn + bytesOut)
}

function formatUsage(
  rows: readonly UsageRow[],
  never: readonly string[] | undefined,
  { table, out }: CommandCall,
): string[] {
  const head = ['tool', 'calls', 'failed', 'callers', 'in', 'out', '~tokens', 'mean', 'last'].map(text =>
    out.paint('dim', text),
  )
  const lines = rows.map(row => [
    toOneLine(row.name),
    String(row.calls),
    String(row.failures),
    String(row.callers),
    formatSize(row.bytesIn),
    formatSize(row.bytesOut),
    String(estimateCallTokens(row)),
    `${Math.round(row.ms)} ms`,
    `${formatDuration(Date.now() - row.last)} ago`,
  ])
  const shownRows = rows.length === 0 ? [out.paint('dim', 'no calls')] : table([head, ...lines])
  if (never === undefined || never.length === 0) return shownRows
  return [
    ...shownRows,
    '',
    out.paint('dim', `never called (${never.length}):`),
    ...never.map(name => `  ${toOneLine(name)}`),
  ]
}
