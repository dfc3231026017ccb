import { existsSync } from 'node:fs'
import { chmod, lstat, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, isAbsolute, relative } from 'node:path'
import type { LoadedConfig, Problem } from '../../config/index.ts'
import { listPrivatePlaces } from '../../config/private-places.ts'
import { connectControl } from '../../control/client.ts'
import { findLivingSockets } from '../../control/sockets.ts'
import { gatewayError, GatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { Health } from '../../errors/health.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isLegacy, isModern } from '../../protocol/methods.ts'
import { readText, readTexts } from '../../util/plain-data.ts'
import { getPlatform } from '../../util/platform.ts'
import { withGatewayHandle, withUnstartedGateway } from '../local/gateway-handle.ts'
import type { Terminal } from '../output/terminal.ts'
import { createCommandFetch, discoverServer, isRemoteAt, joinExcerpts } from '../servers/server-card.ts'
import type { DoctorContext, DoctorFinding } from './doctor-findings.ts'
import { createFinding } from './doctor-findings.ts'

const OTHER_USERS = 0o077
const OTHER_USERS_WRITE = 0o022

/** Checks the modes of configuration files and files with secrets. Windows has no such modes. */
export async function checkFiles({ file, source }: DoctorContext): Promise<DoctorFinding[]> {
  if (!getPlatform().hasModes || file === undefined) return []
  const secrets = source?.secrets ?? []
  const own = new Set([file, ...(source?.files ?? []).filter(path => /\.(ya?ml|json)$/.test(path))])
  const named = (source === undefined ? [] : listPrivatePlaces(source)).flatMap(place =>
    place.isCode === true || place.file === undefined || own.has(place.file) ? [] : [place.file],
  )
  const findings = await Promise.all([
    ...[...own].map(path => checkConfigFile(path, secrets)),
    ...[...new Set(named)].map(path => checkSecretFile(path)),
  ])
  return findings.flat()
}

async function checkConfigFile(path: string, secrets: readonly string[]): Promise<DoctorFinding[]> {
  const mode = await readMode(path)
  const text = await readFile(path, 'utf8').catch(() => '')
  const hasSecrets = secrets.some(secret => text.includes(secret) && !isPath(secret))
  const writable =
    (mode & OTHER_USERS_WRITE) === 0
      ? []
      : [addChmod(createFinding('config-writable', { path }), path, mode & ~OTHER_USERS_WRITE)]
  return [...writable, ...(hasSecrets ? await checkSecretFile(path) : [])]
}

async function checkSecretFile(path: string): Promise<DoctorFinding[]> {
  if (((await readMode(path)) & OTHER_USERS) === 0) return []
  return [addChmod(createFinding('secret-readable', { path }), path, 0o600)]
}

/**
 * True for a relative or existing path, or one in an existing directory: a variable with a file name is not a secret.
 */
function isPath(text: string): boolean {
  if (!isAbsolute(text)) return /^\.\.?\//.test(text)
  const above = dirname(text)
  return existsSync(text) || (above !== dirname(above) && existsSync(above))
}

/** Returns a regular file's mode, else 0. */
async function readMode(path: string): Promise<number> {
  const stats = await lstat(path).catch(() => undefined)
  return stats?.isFile() === true ? stats.mode & 0o7777 : 0
}

function addChmod(finding: DoctorFinding, path: string, mode: number): DoctorFinding {
  return { ...finding, repair: { action: `chmod ${mode.toString(8)} ${path}`, run: () => chmod(path, mode) } }
}

const PATH_POINTER = /^\/upstreams\/[^/]+\/(command|cwd)$/
/** `gateway attach` needs no listener. */
const NO_LISTENERS = /^no listeners/
const NOT_FOUND = /does not exist|not found on PATH/
const SECRET_PROGRAM = /^\$\{(exec|keyring):\}: /

/** Creates findings for a configuration that does not load. */
export function createLoadFindings(thrown: unknown, { terminal }: DoctorContext): DoctorFinding[] {
  if (!(thrown instanceof GatewayError)) throw thrown
  const { code, message, hint, fields } = thrown
  if (code === 'GW_CONFIG_NOT_FOUND') return [createFinding('config-missing', { why: message })]
  const problems = Array.isArray(fields.problems) ? (fields.problems as Problem[]) : []
  if (problems.length === 0)
    return [createFinding('config-invalid', { place: '', why: message, hint: hint || 'gateway validate' })]
  return problems.map(problem => createProblemFinding(problem, terminal.cwd))
}

/** Checks a valid configuration for warnings and plugins that fail to set up. */
export async function checkConfiguration({ source, terminal }: DoctorContext): Promise<DoctorFinding[]> {
  if (source === undefined) return []
  const warnings = source.warnings
    .filter(({ message }) => !NO_LISTENERS.test(message))
    .map(problem => createProblemFinding(problem, terminal.cwd))
  const broken = await findSetupError(source, terminal)
  if (broken === undefined) return warnings
  const [problem] = (broken.fields['problems'] ?? []) as readonly Problem[]
  const why = [...(problem === undefined ? [] : [formatLocation(problem, terminal.cwd)]), broken.message].join(' ')
  return [...warnings, createFinding('plugin-broken', { why, hint: broken.hint })]
}

/** Builds an unstarted gateway and returns its setup error, if any. */
async function findSetupError(source: LoadedConfig, terminal: Terminal): Promise<GatewayError | undefined> {
  try {
    await withUnstartedGateway(source, terminal, () => Promise.resolve())
    return undefined
  } catch (error) {
    return error instanceof GatewayError ? error : gatewayError('GW_INTERNAL', { cause: error })
  }
}

/** A missing program or directory is an error, as the server or gateway cannot start. */
function createProblemFinding(problem: Problem, cwd: string): DoctorFinding {
  const { pointer, message: why, hint = 'Run gateway validate for details', severity } = problem
  const isMissing = (PATH_POINTER.test(pointer) && NOT_FOUND.test(why)) || SECRET_PROGRAM.test(why)
  const code = isMissing ? 'path-missing' : severity === 'error' ? 'config-invalid' : 'config-doubtful'
  const found = createFinding(code, { place: formatLocation(problem, cwd), why, hint })
  return { ...found, location: { file: problem.file, line: problem.line, column: problem.col } }
}

function formatLocation({ file, line, col, pointer }: Problem, cwd: string): string {
  const displayPath = file !== undefined && isAbsolute(file) ? relative(cwd, file) : file
  const position =
    displayPath === undefined ? [] : [line === undefined ? displayPath : `${displayPath}:${line}:${col ?? 1}`]
  return [...position, ...(pointer === '' ? [] : [pointer])].join(' ')
}

/** Asks the running gateways for their findings. */
export async function checkRunning({ file: config, source, flags, terminal }: DoctorContext): Promise<DoctorFinding[]> {
  if (config === undefined) return []
  const { environment } = terminal
  const socketKey = { file: config, env: flags.env, environment }
  const sockets = flags.socket === undefined ? await findLivingSockets(socketKey).catch(() => []) : [flags.socket]
  if (sockets.length === 0) return [createFinding('not-running', { config }), ...(await checkPorts(source))]
  return (await Promise.all(sockets.map(requestHealth))).flat()
}

/** Finds listeners whose port another program uses. */
async function checkPorts(source: LoadedConfig | undefined): Promise<DoctorFinding[]> {
  const specs = Object.entries(source?.config.listeners ?? {})
  const findings = specs.map(async ([listener, spec]) => {
    const isTaken = 'port' in spec && (await isPortTaken(spec))
    return isTaken ? [createFinding('port-taken', { listener, port: spec.port })] : []
  })
  return (await Promise.all(findings)).flat()
}

function isPortTaken(address: { readonly host: string; readonly port: number }): Promise<boolean> {
  const server = createServer()
  return new Promise(resolve => {
    server.once('error', error => resolve('code' in error && error.code === 'EADDRINUSE'))
    server.listen(address, () => server.close(() => resolve(false)))
  })
}

async function requestHealth(socket: string): Promise<readonly DoctorFinding[]> {
  try {
    const client = await connectControl(socket)
    return ((await client.request('health')) as unknown as Health).findings
  } catch (error) {
    return [createFinding('gateway-silent', { why: getErrorMessage(error) })]
  }
}

/** Compares the HTTP servers with their server cards. */
async function checkServerCards({ config }: LoadedConfig, terminal: Terminal): Promise<DoctorFinding[]> {
  const fetch = createCommandFetch(terminal, config.network.private)
  const findings = Object.entries(config.upstreams).map(async ([upstream, spec]) => {
    if ((spec.type !== 'http' && spec.type !== 'sse') || !spec.enabled) return []
    const { url, card } = await discoverServer(new URL(spec.url), fetch, false)
    const all = (card?.remotes ?? []).filter(one => readText(one, 'type') !== undefined)
    const remotes = all.filter(one => readText(one, 'url')?.includes('{') === false)
    const type = spec.type === 'http' ? 'streamable-http' : 'sse'
    if (remotes.length === 0 || remotes.some(one => one.type === type && isRemoteAt(one, url) && isSupported(one)))
      return []
    const texts = remotes.map(one => [one.type, one.url, ...readTexts(one, 'supportedProtocolVersions')].join(' '))
    return [createFinding('card-differs', { upstream, remotes: joinExcerpts(texts) })]
  })
  return (await Promise.all(findings)).flat()
}

/** True if the gateway supports one of the remote's protocol versions, or there is no list of them. */
function isSupported(remote: JsonObject): boolean {
  const versions = readTexts(remote, 'supportedProtocolVersions')
  return versions.length === 0 || versions.some(one => isModern(one) || isLegacy(one))
}

/** Starts the servers, or asks the running gateway, and checks their lists. */
export async function checkOnline({ flags, source, terminal }: DoctorContext): Promise<DoctorFinding[]> {
  if (source === undefined) return []
  return withGatewayHandle(flags, terminal, async gateway => {
    const { unmatched } = await gateway.inspect()
    const { findings } = (await gateway.control('health', {})) as unknown as Health
    const doubtful = unmatched.map(({ pointer, message, hint = '' }) =>
      createFinding('config-doubtful', { place: pointer, why: message, hint: hint || 'gateway validate' }),
    )
    return [...findings, ...doubtful, ...(await checkServerCards(source, terminal))]
  })
}
