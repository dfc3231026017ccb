import { isAbsolute, relative, resolve } from 'node:path'
import type { LoadedConfig, Problem } from '../../../config/index.ts'
import { GatewayError, gatewayError } from '../../../errors/errors.ts'
import { makeDirectory } from '../../../util/storage/files.ts'
import { withUnstartedGateway } from '../../local/gateway-handle.ts'
import type { Terminal } from '../../output/terminal.ts'
import type { DoctorFinding, DoctorContext } from '../doctor-findings.ts'
import { createFinding } from '../doctor-findings.ts'

const UNSET_VARIABLE = /^variable \S+ is (not set|empty)/
const UNREADABLE_SECRET = /^cannot read /
/** Upstream keys that name a file. */
const MISSING_FILES: readonly (readonly [RegExp, 'program-missing' | 'script-missing'])[] = [
  [/^\/upstreams\/([^/]+)\/command$/, 'program-missing'],
  [/^\/upstreams\/([^/]+)\/args\/0$/, 'script-missing'],
]
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
  if (UNSET_VARIABLE.test(reason)) return createFinding('variable-missing', { place: location, why: reason, hint })
  if (UNREADABLE_SECRET.test(reason)) return createFinding('secret-missing', { place: location, why: reason })
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
  for (const [pattern, code] of MISSING_FILES) {
    const upstream = pattern.exec(pointer)?.[1]
    if (upstream === undefined) continue
    const [program = ''] = reason.split(' ')
    return createFinding(code, { upstream, why: reason, hint: INSTALL_HINTS[program] ?? hint })
  }
  return undefined
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
