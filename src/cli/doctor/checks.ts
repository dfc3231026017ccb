import { existsSync } from 'node:fs'
import { chmod, lstat, readFile } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import type { LoadedConfig, Problem } from '../../config/index.ts'
import { listPrivatePlaces } from '../../config/private-places.ts'
import { connectControl } from '../../control/client.ts'
import { findLivingSockets, getAttachSocketPath } from '../../control/sockets.ts'
import { gatewayError, GatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { Health } from '../../errors/health.ts'
import { getPlatform } from '../../util/platform.ts'
import { makeDirectory } from '../../util/storage/files.ts'
import { getStateDirectory } from '../load-source.ts'
import { withGatewayHandle, withUnstartedGateway } from '../local/gateway-handle.ts'
import type { Terminal } from '../output/terminal.ts'
import type { DoctorContext, DoctorFinding } from './doctor-findings.ts'
import { createFinding } from './doctor-findings.ts'

const OTHER_USERS = 0o077
const OTHER_USERS_WRITE = 0o022

/** Checks the modes of the gateway's files and directories. Windows has no such modes. */
export async function checkFiles(context: DoctorContext): Promise<DoctorFinding[]> {
  if (!getPlatform().hasModes) return []
  const findings = await Promise.all([checkConfigFiles(context), checkSecretFiles(context), checkDirectories(context)])
  return findings.flat()
}

async function checkConfigFiles({ file, source }: DoctorContext): Promise<DoctorFinding[]> {
  const files = new Set(file === undefined ? [] : [file, ...(source === undefined ? [] : listConfigFiles(source))])
  const findings = await Promise.all([...files].map(path => checkConfigFile(path, source?.secrets ?? [])))
  return findings.flat()
}

function listConfigFiles({ files, file }: NonNullable<DoctorContext['source']>): readonly string[] {
  return files.filter(path => /\.(ya?ml|json)$/.test(path) || path === file)
}

async function checkConfigFile(path: string, secrets: readonly string[]): Promise<DoctorFinding[]> {
  const mode = await readMode(path)
  if (mode === undefined) return []
  const text = await readFile(path, 'utf8').catch(() => '')
  const hasSecrets = secrets.some(secret => text.includes(secret) && !isPath(secret))
  return [
    ...((mode & OTHER_USERS_WRITE) !== 0
      ? [addChmod(createFinding('config-writable', { path }), path, mode & ~OTHER_USERS_WRITE)]
      : []),
    ...((mode & OTHER_USERS) !== 0 && hasSecrets
      ? [addChmod(createFinding('config-readable', { path }), path, 0o600)]
      : []),
  ]
}

/**
 * True for a relative or existing path, or one in an existing directory: a variable with a file name is not a secret.
 */
function isPath(text: string): boolean {
  if (!isAbsolute(text)) return /^\.\.?\//.test(text)
  const above = dirname(text)
  return existsSync(text) || (above !== dirname(above) && existsSync(above))
}

/** Checks files with secrets, and other files that the configuration names. */
async function checkSecretFiles({ source }: DoctorContext): Promise<DoctorFinding[]> {
  if (source === undefined) return []
  const own = new Set([source.file, ...listConfigFiles(source)])
  const named = listPrivatePlaces(source).flatMap(({ file, isCode }) =>
    isCode === true || file === undefined || own.has(file) ? [] : [file],
  )
  const findings = [...new Set(named)].map(async path => {
    const mode = await readMode(path)
    if (mode === undefined || (mode & OTHER_USERS) === 0) return []
    return [addChmod(createFinding('secret-readable', { path }), path, 0o600)]
  })
  return (await Promise.all(findings)).flat()
}

/** Checks the state and socket directories. */
async function checkDirectories({ file, flags, terminal }: DoctorContext): Promise<DoctorFinding[]> {
  const { environment } = terminal
  const state = getStateDirectory({ file: file ?? 'any' }, terminal)
  const socket = getAttachSocketPath({ file, env: flags.env ?? environment['GATEWAY_ENV'], environment })
  const findings = await Promise.all([
    ...(state === undefined ? [] : [dirname(state), state]).map(path => checkDirectory('state-readable', path)),
    checkDirectory('socket-directory', dirname(socket)),
  ])
  return findings.flat()
}

async function checkDirectory(code: 'state-readable' | 'socket-directory', path: string): Promise<DoctorFinding[]> {
  const stats = await lstat(path).catch(() => undefined)
  const isOpen = stats?.isDirectory() === true && (stats.mode & OTHER_USERS) !== 0
  return isOpen ? [addChmod(createFinding(code, { path }), path, 0o700)] : []
}

/** Returns a regular file's mode, else undefined. */
async function readMode(path: string): Promise<number | undefined> {
  const stats = await lstat(path).catch(() => undefined)
  return stats?.isFile() === true ? stats.mode & 0o7777 : undefined
}

function addChmod(finding: DoctorFinding, path: string, mode: number): DoctorFinding {
  return { ...finding, repair: { action: `chmod ${mode.toString(8)} ${path}`, run: () => chmod(path, mode) } }
}

const COMMAND_POINTER = /^\/upstreams\/([^/]+)\/command$/
const CWD_POINTER = /^\/upstreams\/([^/]+)\/cwd$/
/** `gateway attach` needs no listener. */
const NO_LISTENERS = /^no listeners/
const NOT_FOUND = /does not exist|not found on PATH/

const INSTALL_HINTS: Readonly<Record<string, string>> = {
  npx: 'Install Node.js, or set the full path of npx',
  node: 'Install Node.js, or set the full path of node',
  bunx: 'Install Bun: https://bun.sh',
  uvx: 'Install uv: https://docs.astral.sh/uv',
  uv: 'Install uv: https://docs.astral.sh/uv',
  python3: 'Install Python 3, or set its full path',
  docker: 'Install Docker or a compatible program such as podman',
}

/** Creates findings for a configuration that does not load. */
export function createLoadFindings(thrown: unknown, { terminal }: DoctorContext): DoctorFinding[] {
  if (!(thrown instanceof GatewayError)) throw thrown
  const { code, message, hint, fields } = thrown
  if (code === 'GW_CONFIG_NOT_FOUND') return [createFinding('config-missing', { why: message })]
  const problems = Array.isArray(fields.problems) ? (fields.problems as Problem[]) : []
  if (problems.length === 0)
    return [createFinding('config-invalid', { place: '', why: message, hint: hint || 'gateway validate' })]
  return problems.map(problem => createProblemFinding(problem, terminal.cwd, undefined))
}

/** Checks a valid configuration for warnings and plugins that fail to set up. */
export async function checkConfiguration({ source, terminal }: DoctorContext): Promise<DoctorFinding[]> {
  if (source === undefined) return []
  const warnings = source.warnings
    .filter(({ message }) => !NO_LISTENERS.test(message))
    .map(problem => createProblemFinding(problem, terminal.cwd, source))
  const broken = await findSetupError(source, terminal)
  if (broken === undefined) return warnings
  const { message: reason, hint } = broken
  return [...warnings, createFinding('plugin-broken', { why: reason, hint })]
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

function createProblemFinding(problem: Problem, cwd: string, source: LoadedConfig | undefined): DoctorFinding {
  const { pointer, message: reason, hint = 'Run gateway validate for details', severity } = problem
  const location = formatLocation(problem, cwd)
  if (NOT_FOUND.test(reason)) {
    const finding = createMissingFinding(problem, hint) ?? createMissingDirectoryFinding(pointer, source)
    if (finding !== undefined) return finding
  }
  return createFinding(severity === 'error' ? 'config-invalid' : 'config-doubtful', {
    place: location,
    why: reason,
    hint,
  })
}

function createMissingFinding({ pointer, message: reason }: Problem, hint: string): DoctorFinding | undefined {
  const upstream = COMMAND_POINTER.exec(pointer)?.[1]
  const [program = ''] = reason.split(' ')
  return upstream === undefined
    ? undefined
    : createFinding('program-missing', { upstream, why: reason, hint: INSTALL_HINTS[program] ?? hint })
}

function createMissingDirectoryFinding(pointer: string, source: LoadedConfig | undefined): DoctorFinding | undefined {
  const upstream = CWD_POINTER.exec(pointer)?.[1]
  const spec = source?.config.upstreams[upstream ?? '']
  if (upstream === undefined || source === undefined || spec?.type !== 'stdio') return undefined
  const path = resolve(source.directory, spec.cwd ?? '.')
  const finding = createFinding('directory-missing', { upstream, path })
  return {
    ...finding,
    repair: { action: `mkdir ${path}`, run: () => makeDirectory(path, 0o700).then(() => undefined) },
  }
}

function formatLocation({ file, line, col, pointer }: Problem, cwd: string): string {
  const displayPath = file !== undefined && isAbsolute(file) ? relative(cwd, file) : file
  const position =
    displayPath === undefined ? [] : [line === undefined ? displayPath : `${displayPath}:${line}:${col ?? 1}`]
  return [...position, ...(pointer === '' ? [] : [pointer])].join(' ')
}

/** Asks the running gateways for their findings. */
export async function checkRunning({ file: config, flags, terminal }: DoctorContext): Promise<DoctorFinding[]> {
  if (config === undefined) return []
  const { environment } = terminal
  const socketKey = { file: config, env: flags.env ?? environment['GATEWAY_ENV'], environment }
  const sockets = flags.socket === undefined ? await findLivingSockets(socketKey).catch(() => []) : [flags.socket]
  if (sockets.length === 0) return [createFinding('not-running', { config })]
  return (await Promise.all(sockets.map(requestHealth))).flat()
}

async function requestHealth(socket: string): Promise<readonly DoctorFinding[]> {
  try {
    const client = await connectControl(socket)
    return ((await client.request('health')) as unknown as Health).findings
  } catch (error) {
    return [createFinding('gateway-silent', { why: getErrorMessage(error) })]
  }
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
    return [...findings, ...doubtful]
  })
}
