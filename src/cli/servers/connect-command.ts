import { dirname, relative, resolve } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'
import { INCOMPLETE_EXIT_CODE } from '../../errors/table.ts'
import { suggestHint } from '../../util/suggest.ts'
import { findOwnCommand } from '../background/run-program.ts'
import { findConfigFile, getStateDirectory } from '../load-source.ts'
import type { Consent } from '../output/prompt.ts'
import { promptForConsent } from '../output/prompt.ts'
import { formatTable, wrapWords } from '../output/table.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { ClientDefinition } from './clients.ts'
import { CLIENTS, isInstalled } from './clients.ts'
import type { ClientStatus, ConnectOptions, ConnectPlan, UndoResult } from './connect.ts'
import { applyPlan, ConnectRecords, formatDiff, listClientStatus, planConnect, undoConnect } from './connect.ts'
import type { EntryValues } from './server-entry.ts'

function formatConnectPlan(
  { client, file = '', before, after, isDone, problem }: ConnectPlan,
  out: Terminal['out'],
): string[] {
  const name = out.paint('bold', client.title)
  if (problem !== undefined) return [`${name} ${file} ${out.paint('red', 'unchanged:')} ${problem}`]
  if (isDone === true) return [`${name} ${file} is already connected`]
  return [
    `${name} ${file}${before?.text === undefined ? ' (new)' : ''}`,
    ...formatDiff(before?.text ?? '', after ?? '', out),
  ]
}

export interface ConnectFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly name: string
  readonly scope: 'user' | 'project'
  /** Gateway URL, instead of `gateway attach`. */
  readonly http?: string | undefined
  readonly all: boolean
  readonly yes: boolean
  readonly 'dry-run': boolean
  readonly json: boolean
}

/** Adds the gateway to client settings after confirmation. Returns the exit code. */
export async function runConnect(
  names: readonly string[],
  flags: ConnectFlags,
  terminal: Terminal,
  host: Host,
): Promise<number> {
  const connections = openConnectRecords(terminal)
  if (names.length === 0 && !flags.all)
    return printClients(await listClientStatus(connections, terminal), flags, terminal)
  const clients = flags.all ? CLIENTS.filter(client => isInstalled(client, terminal)) : names.map(findClient)
  const values = await resolveEntryValues(flags, terminal, host)
  const { plans, writes, consent } = await connectClients(
    clients,
    { scope: flags.scope, values, connections, terminal },
    flags,
    host,
  )
  const isWritten = consent === 'given'
  if (flags.json) terminal.out.json(plans.map(plan => createPlanJson(plan, isWritten)))
  else if (isWritten) printWrittenClients(writes, terminal)
  return consent === 'declined' || plans.some(({ problem }) => problem !== undefined) ? INCOMPLETE_EXIT_CODE : 0
}

/** Changes that `connectClients` plans and writes. */
export interface ConnectOutcome {
  readonly plans: readonly ConnectPlan[]
  /** Plans that change a file; written if the consent was given. */
  readonly writes: readonly ConnectPlan[]
  readonly consent: Consent
}

/** Shows the changes unless --json, asks for confirmation, and writes them. */
export async function connectClients(
  clients: readonly ClientDefinition[],
  options: ConnectOptions,
  flags: Pick<ConnectFlags, 'yes' | 'dry-run' | 'json'>,
  host: Host,
): Promise<ConnectOutcome> {
  const { terminal } = options
  const plans = await Promise.all(clients.map(client => planConnect(client, options)))
  if (!flags.json)
    for (const line of plans.flatMap(plan => formatConnectPlan(plan, terminal.out))) terminal.out.line(line)
  const writes = plans.filter(({ after }) => after !== undefined)
  const question = `Write ${writes.length === 1 ? 'this' : `these ${writes.length} files`}?`
  const consent = writes.length === 0 ? 'not asked' : await promptForConsent(question, flags, terminal, host)
  if (consent === 'given') for (const plan of writes) await applyPlan(plan, options)
  return { plans, writes, consent }
}

type DisconnectFlags = Pick<ConnectFlags, 'all' | 'json'>

/** Undoes `gateway connect`. Returns the exit code. */
export async function runDisconnect(
  names: readonly string[],
  flags: DisconnectFlags,
  terminal: Terminal,
): Promise<number> {
  const connections = openConnectRecords(terminal)
  const clients = new Set(names.map(name => findClient(name).name))
  if (clients.size === 0 && !flags.all) throw gatewayError('GW_USAGE', { what: 'specify a client, or use --all' })
  const selected = (await connections.list()).filter(({ client }) => flags.all || clients.has(client))
  const undone: UndoResult[] = []
  for (const connected of selected) undone.push(await undoConnect(connected, connections))
  if (flags.json) terminal.out.json(undone)
  else printUndoResults(undone, terminal)
  return undone.some(({ outcome }) => outcome === 'left') ? INCOMPLETE_EXIT_CODE : 0
}

function printUndoResults(undone: readonly UndoResult[], terminal: Terminal): void {
  for (const one of undone) terminal.out.line(formatUndoResult(one, terminal))
  if (undone.length === 0) terminal.out.line('no connected clients')
}

export function openConnectRecords(terminal: Terminal): ConnectRecords {
  // Shared by all configurations.
  const state = getStateDirectory({ file: 'any' }, terminal)
  if (state === undefined)
    throw gatewayError('GW_USAGE', { what: 'HOME is not set, so client settings cannot be found' })
  return new ConnectRecords(dirname(state))
}

function findClient(name: string): ClientDefinition {
  const client = CLIENTS.find(one => one.name === name)
  if (client !== undefined) return client
  const names = CLIENTS.map(one => one.name)
  throw gatewayError('GW_USAGE', { what: `no client named "${name}"${suggestHint(name, names)}` })
}

async function resolveEntryValues(flags: ConnectFlags, terminal: Terminal, host: Host): Promise<EntryValues> {
  const { name, http, env } = flags
  if (http !== undefined) return { name, line: [], url: parseEndpointUrl(http) }
  const config = await findConfigFile(flags, terminal)
  const more = env === undefined ? [] : ['--env', env]
  return createAttachValues(name, ['attach', '-c', config, ...more], terminal, host)
}

/** Creates an entry that runs this program with `args`. */
export function createAttachValues(name: string, args: readonly string[], terminal: Terminal, host: Host): EntryValues {
  const absoluteProgram = [host.execPath, resolve(terminal.cwd, String(host.argv[1]))]
  return { name, line: [...findOwnCommand(terminal, host), ...args], absoluteLine: [...absoluteProgram, ...args] }
}

function parseEndpointUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text
  throw gatewayError('GW_USAGE', {
    what: `--http must be the URL of a gateway, such as http://127.0.0.1:8080/mcp`,
  })
}

function printClients(statuses: readonly ClientStatus[], { json }: ConnectFlags, terminal: Terminal): number {
  const { out } = terminal
  if (json) {
    out.json(statuses)
    return 0
  }
  const present = statuses.filter(({ isInstalled, connected }) => isInstalled || connected.length > 0)
  const rows = present.map(({ client, title, file = '', connected }) => [
    client,
    title,
    connected.length > 0 ? out.paint('green', `connected as ${connected.join(', ')}`) : 'not connected',
    out.paint('dim', relative(terminal.cwd, file).startsWith('..') ? file : relative(terminal.cwd, file)),
  ])
  for (const line of formatTable(rows, out)) out.line(line)
  if (present.length === 0) out.line('no clients found on this machine')
  const notInstalled = statuses.filter(one => !present.includes(one)).map(({ client }) => client)
  const names = notInstalled.map((name, i) => (i < notInstalled.length - 1 ? `${name},` : name))
  if (notInstalled.length > 0)
    for (const line of wrapWords(out.paint('dim', 'not installed:'), names, out)) out.line(line)
  const next = present.length === 0 ? 'cursor' : present.find(({ connected }) => connected.length === 0)?.client
  if (next !== undefined) out.line(`${out.paint('dim', 'next:')} gateway connect ${next} --dry-run`)
  return 0
}

function printWrittenClients(plans: readonly ConnectPlan[], { out }: Terminal): void {
  for (const { client, file } of plans) {
    out.line(`${out.paint('green', 'wrote')} ${file}`)
    if (client.note !== undefined) out.line(`  ${client.note}`)
    if (client.check !== undefined) out.line(`  ${out.paint('dim', 'check:')} ${client.check}`)
  }
  out.line(`${out.paint('dim', 'undo:')} gateway disconnect ${plans.map(({ client }) => client.name).join(' ')}`)
}

function formatUndoResult({ client, file, outcome, why }: UndoResult, { out }: Terminal): string {
  if (outcome === 'left') return `${client}: ${file} ${out.paint('yellow', 'unchanged:')} ${why ?? ''}`
  const text = { restored: 'restored', removed: 'entry removed', gone: 'entry already removed' }[outcome]
  return `${client}: ${file} ${text}`
}

function createPlanJson({ client, file, entry, isDone = false, problem }: ConnectPlan, isWritten: boolean): object {
  const outcome = problem !== undefined ? 'left' : isDone ? 'unchanged' : isWritten ? 'written' : 'planned'
  return {
    client: client.name,
    file,
    outcome,
    ...(entry === undefined ? {} : { entry }),
    ...(problem === undefined ? {} : { problem }),
  }
}
