import { createInterface } from 'node:readline/promises'
import { toOneLine, plural, truncateText, stripEscapes } from '../../util/plain-text.ts'
import type { ConnectPlan } from './connect.ts'
import { formatConnectPlan } from './connect-command.ts'
import { formatTable, withoutWidth } from '../output/table.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { DetectedServer, STARTERS } from './find-servers.ts'

const MAX_LINE_LENGTH = 200

/** Terminal prompts. They read plain lines, which every terminal supports. */
export interface InitQuestions {
  /** Returns the selected servers. */
  choose(servers: readonly DetectedServer[]): Promise<readonly DetectedServer[]>
  chooseStarter(starters: typeof STARTERS): Promise<readonly DetectedServer[]>
  agree(question: string): Promise<boolean>
  agreeToPlans(plans: readonly ConnectPlan[]): Promise<boolean>
  close(): void
}

/** Prompts on stderr. Returns undefined without a terminal. */
export function createQuestions(terminal: Terminal, host: Host): InitQuestions | undefined {
  const { err } = terminal
  if (!host.stdin.isTTY || err.width === undefined) return undefined
  const lines = createInterface({ input: host.stdin, output: host.stderr })
  // Ctrl-D closes the input, so stop waiting.
  const inputClosed = new AbortController()
  lines.once('close', () => inputClosed.abort())
  const ask = (text: string): Promise<string> =>
    lines.question(`${err.paint('bold', text)} `, { signal: inputClosed.signal }).catch(() => 'no')
  const confirm = async (text: string): Promise<boolean> => /^(y|yes|)$/i.test((await ask(`${text} [Y/n]`)).trim())
  return {
    async choose(servers) {
      for (const line of formatServers(servers, err)) err.line(line)
      return chooseByNumber(servers, ask, 'Select servers: Enter for all, or numbers such as 1 3:')
    },
    async chooseStarter(starters) {
      err.line('No client on this machine has a server yet. Servers to start with:')
      const rows = starters.map(({ name, title }, i) => [`${i + 1}`, err.paint('bold', name), title])
      for (const line of formatTable(rows, err, 2)) err.line(line)
      return chooseByNumber(starters, ask, 'Select servers: Enter for all, or numbers such as 1:')
    },
    agree: confirm,
    async agreeToPlans(plans) {
      for (const line of formatPlanTable(plans, err)) err.line(line)
      const question = `Add the gateway to ${plans.length === 1 ? 'it' : 'them'}? [Y/n, d to show the changes]`
      const answer = (await ask(question)).trim()
      if (!/^d/i.test(answer)) return /^(y|yes|)$/i.test(answer)
      for (const line of plans.flatMap(plan => formatConnectPlan(plan, err))) err.line(line)
      return confirm('Write that?')
    },
    close: () => lines.close(),
  }
}

function formatPlanTable(plans: readonly ConnectPlan[], err: Terminal['err']): string[] {
  const rows = plans.map(({ client, file = '' }) => [err.paint('bold', client.title), file])
  return ['Client settings to update:', ...formatUncutRows(rows, err)]
}

async function chooseByNumber<T>(
  all: readonly T[],
  ask: (text: string) => Promise<string>,
  question: string,
): Promise<readonly T[]> {
  for (;;) {
    const words = (await ask(question))
      .trim()
      .split(/[\s,]+/)
      .filter(word => word !== '')
    if (words.length === 0) return all
    if (/^(n|no|q)$/i.test(words[0] ?? '')) return []
    const picked = words.map(word => all[Number(word) - 1])
    if (picked.every(one => one !== undefined)) return [...new Set(picked)]
    question = `Numbers from 1 to ${all.length}, or Enter for all:`
  }
}

/** Formats number, name, clients and command or URL for each server; wide values go to the next line. */
export function formatServers(servers: readonly DetectedServer[], err: Terminal['err']): string[] {
  const rows = servers.map(({ name, upstream, from }, i) => [
    `${i + 1}`,
    err.paint('bold', name),
    err.paint('dim', toOneLine(from.join(', '))),
    toOneLine(truncateText(formatServer(upstream), MAX_LINE_LENGTH)),
  ])
  return [`Found ${plural(servers.length, 'server')}:`, ...formatUncutRows(rows, err)]
}

/** Formats a table without truncation. */
function formatUncutRows(rows: readonly (readonly string[])[], err: Terminal['err']): string[] {
  const lines = formatTable(rows, withoutWidth(err), 2)
  if (lines.every(line => stripEscapes(line).length <= (err.width ?? Infinity))) return lines
  const heads = formatTable(
    rows.map(row => row.slice(0, -1)),
    withoutWidth(err),
    2,
  )
  return heads.flatMap((head, i) => [head, `     ${rows[i]?.at(-1) ?? ''}`])
}

/** Truncated by the caller: arguments may contain unnamed secrets. */
function formatServer({ command, args, url }: DetectedServer['upstream']): string {
  if (typeof url === 'string') return stripCredentials(url)
  const formattedArgs = Array.isArray(args) ? args.map(String) : []
  return [String(command), ...formattedArgs].join(' ')
}

function stripCredentials(text: string): string {
  if (!URL.canParse(text)) return text
  const { origin, pathname } = new URL(text)
  return `${origin}${pathname}`
}
