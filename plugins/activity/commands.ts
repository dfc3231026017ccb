import type { CommandCall, CommandFlag, Config, JsonObject, PluginCommands } from '../../src/plugin.ts'
import {
  formatBytes,
  formatDuration,
  GatewayError,
  gatewayError,
  isObject,
  suggestHint,
  toOneLine,
  parseDuration,
  estimateTokens,
} from '../../src/plugin.ts'
import type { KeptCall, UsageRow, CallFilter } from './read.ts'

type Options = NonNullable<Config['activity']>

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 10_000
const FOLLOW_MS = 1000
const PAGES = 100

const SINCE: CommandFlag = { value: '<time>', summary: 'Since so long ago, such as 1h or 2d, or a date.' }

export const commands: PluginCommands = {
  activity: {
    summary: 'Show the calls of the last days.',
    description:
      'Reads the file of `activity`; a gateway that runs writes what it has first. The newest calls are shown, the newest last.',
    examples: [
      'gateway activity',
      'gateway activity --tool "files__*" --failed --since 1d',
      'gateway activity --follow --json',
    ],
    gateway: 'running',
    flags: {
      follow: { type: 'boolean', char: 'f', summary: 'Go on with those that come.' },
      tool: { value: '<name>', summary: 'Of this tool; * stands for anything.' },
      principal: { value: '<subject>', summary: 'Of this caller.' },
      failed: { type: 'boolean', summary: 'Those that failed or were refused.' },
      since: SINCE,
      limit: { value: '<number>', summary: `How many; default ${DEFAULT_LIMIT}.` },
    },
    async run(call) {
      const path = await fileFor(call)
      const wanted = wantedIn(call)
      await flush(call)
      const { callsIn } = await import('./read.ts')
      const calls = callsIn(path, wanted).reverse()
      if (calls.length === 0) await checkTool(wanted.tool, path, call)
      if (call.flags.follow !== true)
        return call.print({ calls: calls.map(shown) }, () => callLines(calls, call))
      await follow(calls, call, after => callsIn(path, { ...wanted, after, limit: MAX_LIMIT }))
    },
  },
  usage: {
    summary: 'Show how much each tool is used, what that costs in tokens, and which tools nobody calls.',
    description:
      'Tokens are estimated from bytes. Which tools are never called is known where the gateway runs.',
    examples: ['gateway usage', 'gateway usage --since 1d --json'],
    gateway: 'running',
    flags: { since: SINCE },
    async run(call) {
      const path = await fileFor(call)
      const listed = await flush(call, listTools)
      const { usageIn } = await import('./read.ts')
      const tools = usageIn(path, sinceOf(call.flags.since) ?? 0)
      const called = new Set(tools.map(({ name }) => name))
      const never = listed?.filter(name => !called.has(name))
      const rows = tools.map(row => ({ ...row, tokens: tokens(row), last: new Date(row.last).toISOString() }))
      call.print({ tools: rows, ...(never === undefined ? {} : { never }) }, () =>
        usageLines(tools, never, call),
      )
    },
  },
}

async function fileFor(call: CommandCall): Promise<string> {
  const { options, directory } = await call.load()
  if (!isObject(options)) throw gatewayError('GW_NOT_CONFIGURED', { keys: 'activity' })
  const { fileOf } = await import('./place.ts')
  return fileOf(options as unknown as Options, directory)
}

/** Has a gateway that runs write what it has, and asks it something more. Undefined where none runs. */
async function flush<T>(
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

/** No gateway runs, or one that has been told of `activity` since. */
const NOT_ASKED: ReadonlySet<string> = new Set(['GW_NO_GATEWAY', 'GW_VERB_UNKNOWN'])

/** The names of all tools, as nobody in particular sees them. */
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

/** Refuses the name of a tool that was never called and that the gateway has not; a pattern may fit nothing. */
async function checkTool(tool: string | undefined, path: string, call: CommandCall): Promise<void> {
  if (tool === undefined || /[*?[]/.test(tool)) return
  const { namesIn } = await import('./read.ts')
  const called = namesIn(path)
  if (called.includes(tool)) return
  const listed = await flush(call, listTools)
  if (listed === undefined || listed.includes(tool)) return
  throw gatewayError('GW_TOOL_UNKNOWN', {
    tool,
    meant: suggestHint(tool, [...new Set([...listed, ...called])]),
  })
}

function wantedIn({ flags }: CommandCall): CallFilter {
  const limit = flags.limit === undefined ? DEFAULT_LIMIT : Number(flags.limit)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw gatewayError('GW_USAGE', { what: `--limit must be a number from 1 to ${MAX_LIMIT}` })
  return {
    tool: flags.tool as string | undefined,
    principal: flags.principal as string | undefined,
    failed: flags.failed === true,
    since: sinceOf(flags.since),
    limit,
  }
}

/** `2d` ago, or a date. */
function sinceOf(flag: CommandCall['flags'][string]): number | undefined {
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

async function follow(
  first: readonly KeptCall[],
  call: CommandCall,
  next: (after: number) => KeptCall[],
): Promise<void> {
  let isOver = false
  const leave = call.onInterrupt(() => (isOver = true))
  let last = 0
  const show = (calls: readonly KeptCall[]): void => {
    for (const one of calls) {
      call.printNext(shown(one), () => callLines([one], call))
      last = one.id
    }
  }
  show(first)
  while (!isOver) {
    await new Promise(resolve => setTimeout(resolve, FOLLOW_MS))
    await flush(call)
    show(next(last))
  }
  leave()
}

/** A call for programs: without what is empty. */
function shown({ at, principal, scopes, shape, args, times, ...call }: KeptCall): JsonObject {
  const all = {
    ...call,
    time: new Date(at).toISOString(),
    principal: callerText(principal),
    scopes: scopes === '' ? '' : scopes.split(' '),
    shape: jsonIn(shape),
    arguments: jsonIn(args),
    timing: jsonIn(times ?? ''),
  }
  return Object.fromEntries(
    Object.entries(all).filter(([key, value]) => value !== '' && (key !== 'code' || value !== 0)),
  )
}

function jsonIn(text: string): unknown {
  try {
    return text === '' ? '' : JSON.parse(text)
  } catch {
    return text
  }
}

function callerText(principal: string): string {
  const parts = jsonIn(principal)
  return Array.isArray(parts) ? String(parts[2]) : principal
}

function callLines(calls: readonly KeptCall[], { table, out }: CommandCall): string[] {
  if (calls.length === 0) return [out.paint('dim', 'no calls')]
  return table(
    calls.map(({ at, outcome, ms, principal, client, name, upstream, bytesIn, bytesOut, code }) => [
      out.paint('dim', new Date(at).toISOString().replace('T', ' ').slice(0, 19)),
      out.paint(outcome === 'ok' ? 'green' : 'red', code === 0 ? outcome : `${outcome} ${code}`),
      `${Math.round(ms)} ms`,
      toOneLine(callerText(principal)),
      toOneLine(client),
      toOneLine(name),
      toOneLine(upstream),
      `${bytesIn} → ${bytesOut} B`,
    ]),
  )
}

function sizeText(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : formatBytes(bytes)
}

function tokens({ bytesIn, bytesOut }: Pick<UsageRow, 'bytesIn' | 'bytesOut'>): number {
  return estimateTokens(bytesIn + bytesOut)
}

function usageLines(
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
    sizeText(row.bytesIn),
    sizeText(row.bytesOut),
    String(tokens(row)),
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
