import { copyFile, link, rename, writeFile } from 'node:fs/promises'
import { existsSync, rmSync } from 'node:fs'
import { isAbsolute, relative, resolve, dirname, join } from 'node:path'
import type { UpstreamStatus } from '../../api/gateway.ts'
import type { ControlClient } from '../../control/client.ts'
import { gatewayError, GatewayError, getOwnerReason, getErrorMessage } from '../../errors/errors.ts'
import { INCOMPLETE_EXIT_CODE } from '../../errors/table.ts'
import type { Health } from '../../errors/health.ts'
import { isObject } from '../../protocol/json/json.ts'
import { toOneLine, plural } from '../../util/plain-text.ts'
import { ensureRunning } from '../background/up.ts'
import { validate } from '../local/validate.ts'
import { formatFindings } from '../output/format-findings.ts'
import { askYesNo, canAsk, promptForConsent } from '../output/prompt.ts'
import { formatStarting, withProgress } from '../output/progress.ts'
import { formatTable, withoutWidth } from '../output/table.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import { withControl } from '../remote/control-connection.ts'
import type { ConnectOutcome } from './connect-command.ts'
import { connectClients, createAttachValues, openConnectRecords } from './connect-command.ts'
import type { DetectedServer, DetectionResult } from './find-servers.ts'
import { findServers, STARTERS } from './find-servers.ts'
import { toYaml } from '../../config/source/plain-yaml.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { makeDirectory, writeFileAtomic } from '../../util/storage/files.ts'
import { formatSchemaLine, listVariables } from './import.ts'
import { extractSecrets, formatSecretReference, isSecretText, SECRETS_DIRECTORY, writeTokens } from './tokens.ts'

export interface InitFlags {
  readonly output: string
  readonly force: boolean
  readonly yes: boolean
  readonly 'dry-run': boolean
  readonly 'no-start': boolean
  readonly 'no-connect': boolean
  readonly move: boolean
  readonly starter?: string | undefined
  readonly json: boolean
}

/** `gateway init --json` output. */
export interface InitResult {
  /** Undefined if nothing was written. */
  readonly file: string | undefined
  /** True if the user declined or aborted. */
  readonly declined?: true
  readonly found: DetectionResult['files']
  readonly servers: readonly { readonly name: string; readonly from: readonly string[] }[]
  /** Extracted secret locations. */
  readonly secrets: readonly string[]
  readonly variables: readonly string[]
  readonly notes: readonly string[]
  readonly text: string
  readonly started?: {
    readonly tools: readonly string[]
    /** Servers that were still starting after the timeout. */
    readonly starting: readonly string[]
    readonly health: Health
  }
  /** Connected clients, with the servers that were removed from their settings. */
  readonly connected: readonly { readonly client: string; readonly file: string; readonly moved: readonly string[] }[]
  /** True if the user declined all connections. */
  readonly unconnected?: true
  /** Failures after the configuration was written. */
  readonly problems: readonly string[]
}

const CONTROL_TIMEOUT_MS = 10_000
const POLL_MS = 50
/** Package downloads may take longer. */
const SERVERS_TIMEOUT_MS = 30_000

interface InitDeps {
  readonly terminal: Terminal
  readonly host: Host
}

/**
 * Finds the installed clients' servers, writes a configuration, starts the gateway and connects the clients.
 * @throws GatewayError GW_USAGE, GW_FILE_EXISTS, GW_INIT, GW_CONFIG_INVALID
 */
async function init(flags: InitFlags, around: InitDeps): Promise<InitResult> {
  const { terminal, host } = around
  const target = resolve(terminal.cwd, flags.output)
  const found = await findServers(terminal)
  const servers = chooseServers(found, flags)
  const detection = flags.starter === undefined ? found : { ...found, files: [] }
  const { environment } = terminal
  const draft = createDraft(servers, { environment, launcher: String(host.argv[1]), target })
  const result = createInitResult(detection, servers, draft)
  if (flags['dry-run']) return { ...result, file: undefined }
  if (!flags.yes) for (const line of formatServers(servers, terminal.err)) terminal.err.line(line)
  const consent = await promptForConsent(`Write ${target}?`, flags, terminal, host)
  if (consent === 'declined') return { ...result, file: undefined, declined: true }
  await writeDraft(draft, target, flags.force)
  await validate({ config: target }, terminal)
  return startAndConnect({ ...result, file: target }, detection, flags, around)
}

/** Starts the gateway and connects the clients. Failures become part of the result. */
async function startAndConnect(
  result: InitResult & { readonly file: string },
  detection: DetectionResult,
  flags: InitFlags,
  around: InitDeps,
): Promise<InitResult> {
  const { file: target, notes } = result
  const problems: string[] = []
  const attempt = async <T>(work: Promise<T>): Promise<T | undefined> =>
    work.catch((error: unknown) => void problems.push(formatFailure(error)))
  const started = flags['no-start'] ? undefined : await attempt(startServers(target, around))
  const connected = flags['no-connect']
    ? undefined
    : await attempt(connectDetected(selectMovable(detection, started, flags), target, flags, around))
  const left = connected?.plans.flatMap(({ client, problem }) =>
    problem === undefined ? [] : [`${client.title}: ${problem}`],
  )
  return {
    ...result,
    ...(started === undefined ? {} : { started }),
    connected: connected === undefined ? [] : listConnected(connected),
    ...(connected?.consent === 'declined' ? { unconnected: true } : {}),
    notes: [...notes, ...(left ?? [])],
    problems,
  }
}

/** Servers stay in the clients if the gateway did not start with them. */
function selectMovable(
  detection: DetectionResult,
  started: InitResult['started'],
  flags: Pick<InitFlags, 'no-start'>,
): DetectionResult {
  return started !== undefined || flags['no-start'] ? detection : { ...detection, files: [] }
}

function listConnected({ plans, consent }: ConnectOutcome): InitResult['connected'] {
  return plans
    .filter(({ isDone, after }) => isDone === true || (consent === 'given' && after !== undefined))
    .map(({ client, file = '', moved = [] }) => ({ client: client.title, file, moved: moved.map(({ name }) => name) }))
}

function createInitResult(
  { files, notes }: DetectionResult,
  servers: readonly DetectedServer[],
  draft: ConfigDraft,
): InitResult {
  return {
    file: undefined,
    found: files,
    servers: servers.map(({ name, from }) => ({ name, from })),
    secrets: draft.secrets.map(({ location }) => location),
    variables: draft.variables,
    notes,
    text: draft.text,
    connected: [],
    problems: [],
  }
}

/** Returns the servers to write: a starter if it is named, or if there is no other server. */
function chooseServers(
  { servers }: DetectionResult,
  { starter, yes, 'dry-run': isDry }: InitFlags,
): readonly DetectedServer[] {
  if (starter !== undefined) return [findStarter(starter)]
  if (servers.length > 0) return servers
  if (yes || isDry) return STARTERS.slice(0, 1)
  throw gatewayError('GW_USAGE', {
    what: `no client has servers; start with one of these: ${formatStarters()}`,
  })
}

function formatStarters(): string {
  return STARTERS.map(({ name, title }) => `--starter ${name} (${title})`).join(', ')
}

function findStarter(name: string): DetectedServer {
  const starter = STARTERS.find(one => one.name === name)
  if (starter !== undefined) return starter
  throw gatewayError('GW_USAGE', { what: `no starter named "${name}", use ${formatStarters()}` })
}

function startServers(config: string, { terminal, host }: InitDeps): Promise<InitResult['started']> {
  let text = 'starting the gateway'
  const start = async (): Promise<InitResult['started']> => {
    await ensureRunning({ config }, terminal, host)
    return retryWithControl({ config }, terminal, async client => {
      const starting = await waitForServers(client, now => (text = now))
      const { result } = await client.request('client.request', { method: 'tools/list' })
      const tools = isObject(result) && Array.isArray(result.tools) ? result.tools.filter(isObject) : []
      const health = (await client.request('health')) as unknown as Health
      return { tools: tools.map(({ name }) => String(name)), starting, health }
    })
  }
  return withProgress(terminal, () => text, start())
}

/** Waits until no server is starting. Returns those that still are at the timeout. */
async function waitForServers(client: ControlClient, setText: (text: string) => void): Promise<readonly string[]> {
  const end = performance.now() + SERVERS_TIMEOUT_MS
  for (;;) {
    const upstreams = (await client.request('ps')).upstreams as readonly UpstreamStatus[]
    const starting = upstreams.filter(({ state }) => state === 'starting').map(({ name }) => name)
    if (starting.length === 0 || performance.now() > end) return starting
    setText(formatStarting(upstreams))
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}

/** The control socket opens shortly after the attach socket, so retry. */
async function retryWithControl<T>(
  flags: { readonly config: string },
  terminal: Terminal,
  use: (client: ControlClient) => Promise<T>,
): Promise<T> {
  const end = performance.now() + CONTROL_TIMEOUT_MS
  for (;;)
    try {
      return await withControl(flags, terminal, use, 'one')
    } catch (error) {
      const isSoon = error instanceof GatewayError && error.code === 'GW_NO_GATEWAY'
      if (!isSoon || performance.now() > end) throw error
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    }
}

async function connectDetected(
  { clients, files }: DetectionResult,
  config: string,
  flags: InitFlags,
  { terminal, host }: InitDeps,
): Promise<ConnectOutcome> {
  const values = createAttachValues('gateway', ['attach', '-c', config], terminal, host)
  const question = 'Remove these servers from the clients, so that each runs once? Undo: gateway disconnect.'
  const canMove = files.length > 0 && !flags.yes && canAsk(terminal, host)
  const isMoving = flags.move || (canMove && (await askYesNo(question, host)))
  const moves = new Map(isMoving ? files.map(({ file, servers }) => [file, servers]) : [])
  const options = { scope: 'user', values, moves, connections: openConnectRecords(terminal), terminal } as const
  return connectClients(clients, options, { ...flags, json: flags.json || flags.yes }, host)
}

function formatFailure(error: unknown): string {
  return error instanceof GatewayError ? `${getOwnerReason(error)} (${error.hint})` : getOwnerReason(error)
}

/** Returns a relative path for files below the working directory. */
function toRelativePath(cwd: string, path: string): string {
  const short = relative(cwd, path)
  return short.startsWith('..') || isAbsolute(short) ? path : short
}

/** Runs `gateway init` and prints the result and next steps. Returns the exit code. */
export async function runInit(flags: InitFlags, terminal: Terminal, host: Host): Promise<number> {
  const done = await init(flags, { terminal, host })
  if (flags.json) terminal.out.json(done)
  else for (const line of formatInit(done, terminal)) terminal.out.line(line)
  return done.problems.length > 0 || done.declined === true || done.unconnected === true ? INCOMPLETE_EXIT_CODE : 0
}

function formatInit(done: InitResult, terminal: Terminal): string[] {
  const { out, cwd } = terminal
  const { file, servers, variables, notes, text } = done
  if (done.declined === true) return ['preview with gateway init --dry-run']
  if (file === undefined) return text.trimEnd().split('\n')
  const config = toRelativePath(cwd, file)
  const names = servers.map(({ name }) => name).join(', ')
  return [
    `${out.paint('green', 'wrote')} ${config}: ${plural(servers.length, 'server')} (${names})`,
    ...formatSecrets(done, out),
    ...(variables.length > 0
      ? [`${out.paint('yellow', 'set')} ${variables.join(', ')} in the environment, then: gateway down; gateway up`]
      : []),
    ...notes.map(note => `${out.paint('yellow', 'note')} ${note}`),
    ...formatStarted(done, out),
    ...formatConnected(done, terminal),
    ...done.problems.map(problem => `${out.paint('red', 'problem')} ${problem}`),
    '',
    ...formatNextSteps(done, config, out),
  ]
}

function formatSecrets({ secrets }: InitResult, out: Terminal['out']): string[] {
  if (secrets.length === 0) return []
  const count = plural(secrets.length, 'secret')
  return [`${out.paint('green', 'moved')} ${count} into secrets/, readable only by you`]
}

function formatStarted({ started }: InitResult, out: Terminal['out']): string[] {
  if (started === undefined) return []
  const { tools, health, starting } = started
  return [
    `${out.paint('green', 'started')} the gateway: ${plural(tools.length, 'tool')}`,
    ...(starting.length > 0
      ? [`${out.paint('yellow', 'starting')} ${starting.join(', ')}: check with gateway status`]
      : []),
    ...formatFindings(health.findings, out),
  ]
}

function formatConnected(done: InitResult, terminal: Terminal): string[] {
  const { connected, unconnected } = done
  const { out, cwd } = terminal
  if (unconnected === true) return ['no client was connected; preview with gateway connect --dry-run']
  if (connected.length === 0) return []
  return [
    ...connected.map(({ client, file, moved }) => {
      const text = moved.length === 0 ? '' : `; removed ${moved.join(', ')}`
      return `${out.paint('green', 'connected')} ${client} (${toRelativePath(cwd, file)})${text}`
    }),
    ...formatDuplicates(done, terminal),
  ]
}

/** Formats the servers that still run twice: in a client and in the gateway. */
function formatDuplicates({ found, connected }: InitResult, { out, cwd }: Terminal): string[] {
  const moved = new Set(connected.flatMap(one => one.moved.map(name => `${one.file} ${name}`)))
  const lines = found.flatMap(({ file, servers }) => {
    const names = servers.filter(name => !moved.has(`${file} ${name}`))
    return names.length === 0 ? [] : [`  ${toRelativePath(cwd, file)}: ${names.join(', ')}`]
  })
  const hint = moved.size > 0 ? 'remove them there' : 'gateway init --force --move removes them there'
  const note = `${out.paint('yellow', 'note')} these servers run twice, in the gateway and in a client; ${hint}:`
  return lines.length === 0 ? [] : [note, ...lines]
}

function formatNextSteps({ started }: InitResult, config: string, out: Terminal['out']): string[] {
  return [
    out.paint('dim', 'Next:'),
    ...(started === undefined ? [`  gateway up -c ${config}`] : []),
    `  gateway tools -c ${config}`,
    `  gateway status -c ${config}`,
    `  gateway doctor -c ${config}`,
  ]
}

/** Formats name, clients and command or URL of each server, without truncation. */
function formatServers(servers: readonly DetectedServer[], err: Terminal['err']): string[] {
  const rows = servers.map(({ name, upstream: { command, args = [], url }, from }) => [
    err.paint('bold', name),
    err.paint('dim', toOneLine(from.join(', '))),
    toOneLine(typeof url === 'string' ? stripCredentials(url) : [command, args].flat().join(' ')),
  ])
  return [`Found ${plural(servers.length, 'server')}:`, ...formatTable(rows, withoutWidth(err), 2)]
}

function stripCredentials(text: string): string {
  if (!URL.canParse(text)) return text
  const { origin, pathname } = new URL(text)
  return `${origin}${pathname}`
}

/** Configuration before it is written. */
export interface ConfigDraft {
  readonly text: string
  readonly secrets: ReturnType<typeof extractSecrets>['tokens']
  /** Variables that are not set in this environment. */
  readonly variables: readonly string[]
}

interface DraftOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly launcher: string
  readonly target: string
}

/** Creates a configuration with each server's source as a comment, and secrets in separate files. */
export function createDraft(
  servers: readonly DetectedServer[],
  { environment, launcher, target }: DraftOptions,
): ConfigDraft {
  const upstreamsByName = Object.fromEntries(servers.map(({ name, upstream }) => [name, upstream]))
  const { tokens, upstreams } = extractSecrets(upstreamsByName, formatSecretReference, isSecretText)
  const variables = listVariables(JSON.stringify(upstreams)).filter(name => environment[name] === undefined)
  const blocks = servers.map(({ name, from }) =>
    formatServerBlock(name, upstreams[name] as JsonObject, from, variables),
  )
  return { text: [...createHeader(launcher, target), ...blocks].join('\n'), secrets: tokens, variables }
}

function createHeader(launcher: string, target: string): string[] {
  return [
    formatSchemaLine(target, launcher),
    '# Created by "gateway init". After a change: gateway validate, then gateway reload.',
    'version: 1',
    '',
    '# Clients on this machine attach over a socket. For HTTP clients and browsers:',
    '# listeners:',
    '#   main: { type: http, port: 8080 }',
    '',
    'upstreams:',
  ]
}

/**
 * Formats an upstream below a comment with its source. Unset variables default to empty, so that other servers start.
 */
function formatServerBlock(
  name: string,
  upstream: JsonObject,
  from: readonly string[],
  unset: readonly string[],
): string {
  const text = toYaml({ [name]: upstream }).replace(/(?<!\$)\$\{([A-Za-z_]\w*)\}/g, (placeholder, variable: string) =>
    unset.includes(variable) ? `\${${variable}:-}` : placeholder,
  )
  const needs = unset.filter(variable => text.includes(`\${${variable}:-}`))
  const lines = [
    `# From ${from.join(', ')}.`,
    ...(needs.length > 0 ? [`# Set ${needs.join(', ')} in the environment that starts the gateway.`] : []),
    ...text.trimEnd().split('\n'),
  ]
  return `${lines.map(line => (line === '' ? '' : `  ${line}`)).join('\n')}\n`
}

/**
 * Writes secrets and configuration, readable only by their owner. Of two concurrent writers one fails.
 * @throws GatewayError GW_FILE_EXISTS, GW_INIT; the files are then removed
 */
export async function writeDraft({ text, secrets }: ConfigDraft, target: string, force: boolean): Promise<void> {
  const directory = join(dirname(target), SECRETS_DIRECTORY)
  const hadSecrets = existsSync(directory)
  if (!force && existsSync(target)) throw gatewayError('GW_FILE_EXISTS', { file: target })
  try {
    if (secrets.length > 0) await writeSecrets(secrets, directory)
    await replaceFile(target, text, force)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw gatewayError('GW_FILE_EXISTS', { file: target })
    if (!hadSecrets) rmSync(directory, { recursive: true, force: true })
    if (error instanceof GatewayError) throw error
    throw gatewayError('GW_INIT', { file: target, why: getErrorMessage(error) })
  }
}

/** Writes the file; an existing one is kept as `.bak` if it may be replaced. */
async function replaceFile(target: string, text: string, force: boolean): Promise<void> {
  if (force && existsSync(target)) await copyFile(target, `${target}.bak`)
  await writeFileAtomic(target, Buffer.from(text), force ? rename : link)
}

async function writeSecrets(secrets: ConfigDraft['secrets'], directory: string): Promise<void> {
  await makeDirectory(directory, 0o700)
  await writeTokens(secrets, directory)
  // Keep secrets out of version control.
  await writeFile(join(directory, '.gitignore'), '*\n', { mode: 0o600 })
}
