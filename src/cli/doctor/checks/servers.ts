import { accessSync, constants, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import type { Inspection } from '../../../api/gateway.ts'
import type { LoadedConfig } from '../../../config/index.ts'
import { connectControl } from '../../../control/client.ts'
import { findLivingSockets } from '../../../control/sockets.ts'
import { getErrorMessage } from '../../../errors/errors.ts'
import type { Health } from '../../../errors/health.ts'
import { isObject } from '../../../protocol/json/json.ts'
import { formatDuration } from '../../../util/plain-text.ts'
import { getPlatform } from '../../../util/platform.ts'
import { isSecretName } from '../../../util/secrets.ts'
import { readOwnPackage } from '../../../util/version.ts'
import type { GatewayHandle } from '../../local/gateway-handle.ts'
import { withGatewayHandle } from '../../local/gateway-handle.ts'
import { listAllTools } from '../../local/tools.ts'
import type { DoctorFinding, DoctorContext } from '../doctor-findings.ts'
import { createFinding } from '../doctor-findings.ts'

/** Tool limit in some clients. */
const MAX_TOOLS = 128
const MAX_TOKENS = 25_000
const CHARACTERS_PER_TOKEN = 4
const MAX_NAMES = 5

/** Checks the running gateways. */
export async function checkRunning(
  context: DoctorContext,
): Promise<{ readonly findings: DoctorFinding[]; readonly isRunning: boolean }> {
  const { file: config, flags, terminal } = context
  if (config === undefined) return { findings: [], isRunning: false }
  const { environment } = terminal
  const socketKey = { file: config, env: flags.env ?? environment['GATEWAY_ENV'], environment }
  const sockets = flags.socket === undefined ? await findLivingSockets(socketKey).catch(() => []) : [flags.socket]
  if (sockets.length === 0) return { findings: [createFinding('not-running', { config })], isRunning: false }
  const findings = await Promise.all(sockets.map(requestHealth))
  const multiple = sockets.length > 1 ? [createFinding('gateways-many', { count: sockets.length, config })] : []
  return { findings: [...multiple, ...findings.flat()], isRunning: true }
}

async function requestHealth(socket: string): Promise<DoctorFinding[]> {
  try {
    const client = await connectControl(socket)
    const { version: own } = readOwnPackage()
    const { version: theirs } = client.about
    const different = theirs === own ? [] : [createFinding('version-differs', { theirs, own })]
    const { findings } = (await client.request('health')) as unknown as Health
    return [...different, ...findings]
  } catch (error) {
    return [createFinding('gateway-silent', { why: getErrorMessage(error) })]
  }
}

/** Checks catalog and tool lists, in the running gateway or a temporary one. */
export async function checkOnline({ flags, source, terminal }: DoctorContext): Promise<DoctorFinding[]> {
  if (source === undefined) return []
  return withGatewayHandle(flags, terminal, async gateway => {
    const tools = await listAllTools(gateway)
    const { findings } = (await gateway.control('health', {})) as unknown as Health
    return [...findings, ...checkCatalog(await gateway.inspect()), ...checkListSize(tools)]
  })
}

type InspectionResult = Awaited<ReturnType<GatewayHandle['inspect']>>

function checkCatalog({ withheld, unmatched }: InspectionResult): DoctorFinding[] {
  const doubtful = unmatched.map(({ pointer, message, hint = '' }) =>
    createFinding('config-doubtful', { place: pointer, why: message, hint: hint || 'gateway validate' }),
  )
  return [...checkHiddenNames(withheld), ...doubtful]
}

function checkHiddenNames(withheld: Inspection['withheld']): DoctorFinding[] {
  const owners = [...new Set(withheld.map(({ upstream }) => upstream))]
  return owners.map(upstream => {
    const names = withheld.filter(row => row.upstream === upstream).map(({ name }) => name)
    const listedNames = names.slice(0, MAX_NAMES).join(', ')
    return createFinding('names-withheld', { upstream, count: names.length, names: listedNames })
  })
}

function checkListSize(tools: readonly object[]): DoctorFinding[] {
  const tokens = Math.ceil(JSON.stringify(tools).length / CHARACTERS_PER_TOKEN)
  return [
    ...(tools.length > MAX_TOOLS ? [createFinding('tools-many', { count: tools.length, limit: MAX_TOOLS })] : []),
    ...(tokens > MAX_TOKENS ? [createFinding('tools-heavy', { tokens })] : []),
  ]
}

/** Placeholder values from documentation. */
const PLACEHOLDER =
  /^(?:bearer\s+)?(?:<[^>]+>|your[-_ ]?[\w -]*(?:key|token|secret|password)[\w -]*|changeme|xxx+|replace[-_ ]?me|todo|\.\.\.)$/i
const JWT = /\beyJ[\w-]+\.(eyJ[\w-]+)\.[\w-]*/

type UpstreamConfigs = LoadedConfig['config']['upstreams']

/** Checks upstream programs, variables and headers. */
export function checkServers({ source }: DoctorContext): DoctorFinding[] {
  if (source === undefined) return []
  const { upstreams } = source.config
  return Object.entries(upstreams)
    .filter(([, { enabled }]) => enabled)
    .flatMap(([upstream, spec]) => [
      ...checkExecutable(upstream, spec, source.directory),
      ...listValues(spec).flatMap(([location, value]) => checkValue(upstream, location, value, Date.now())),
    ])
}

function checkExecutable(upstream: string, spec: UpstreamConfigs[string], directory: string): DoctorFinding[] {
  if (spec.type !== 'stdio' || !spec.command.includes('/') || !getPlatform().hasModes) return []
  const cwd = spec.cwd === 'project' ? directory : resolve(directory, spec.cwd ?? '.')
  const path = resolve(cwd, spec.command)
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return []
  try {
    accessSync(path, constants.X_OK)
    return []
  } catch {
    return [createFinding('program-not-executable', { upstream, path })]
  }
}

/** Lists secret variables and headers by key. */
function listValues(spec: object): [string, string][] {
  return ['env', 'headers'].flatMap(key => {
    const map: unknown = (spec as Record<string, unknown>)[key]
    const entries = isObject(map) ? Object.entries(map) : []
    return entries.flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' && isSecretName(name) ? [[`${key}.${name}`, value]] : [],
    )
  })
}

function checkValue(upstream: string, location: string, value: string, now: number): DoctorFinding[] {
  if (PLACEHOLDER.test(value.trim()))
    return [createFinding('secret-placeholder', { upstream, place: location, value: value.trim().slice(0, 40) })]
  const end = parseExpiry(value)
  if (end === undefined || end > now) return []
  return [createFinding('token-expired', { upstream, place: location, ago: formatDuration(now - end) })]
}

/** Returns a JWT's expiry time in milliseconds since the epoch. */
function parseExpiry(value: string): number | undefined {
  const [, claims] = JWT.exec(value) ?? []
  if (claims === undefined) return undefined
  try {
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as { exp?: unknown }
    return typeof exp === 'number' ? exp * 1000 : undefined
  } catch {
    return undefined
  }
}

const PORT_CODES = {
  EADDRINUSE: 'port-taken',
  EACCES: 'port-refused',
  EADDRNOTAVAIL: 'address-unknown',
  ENOTFOUND: 'address-unknown',
} as const

/** Checks the listener addresses if the gateway is not running. */
export async function checkListeners({ source }: DoctorContext): Promise<DoctorFinding[]> {
  if (source === undefined) return []
  const findings = Object.entries(source.config.listeners).map(async ([listener, spec]) => {
    if (spec.type !== 'http') return []
    const { host, port } = spec
    const code = await tryListen(host, port)
    const findingCode = PORT_CODES[code as keyof typeof PORT_CODES] as
      (typeof PORT_CODES)[keyof typeof PORT_CODES] | undefined
    return findingCode === undefined ? [] : [createFinding(findingCode, { listener, host, port })]
  })
  return (await Promise.all(findings)).flat()
}

/** Tries to listen and returns the error code, if any. */
function tryListen(host: string, port: number): Promise<string | undefined> {
  return new Promise(done => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => done(error.code))
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(undefined)))
  })
}
