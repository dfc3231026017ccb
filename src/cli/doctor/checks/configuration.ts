import { isAbsolute, relative, resolve } from 'node:path'
import type { LoadedConfig, Problem } from '../../../config/index.ts'
import { GatewayError, gatewayError } from '../../../errors/errors.ts'
import { makeDirectory } from '../../../util/storage/files.ts'
import { withUnstarted } from '../../local/ask-gateway.ts'
import type { Terminal } from '../../output/terminal.ts'
import type { Complaint, DoctorContext } from '../table.ts'
import { complaint } from '../table.ts'

const UNSET = /^variable \S+ is (not set|empty)/
const UNREAD = /^cannot read /
/** Keys of an upstream that name something which must exist. */
const MISSING: readonly (readonly [RegExp, 'program-missing' | 'script-missing'])[] = [
  [/^\/upstreams\/([^/]+)\/command$/, 'program-missing'],
  [/^\/upstreams\/([^/]+)\/args\/0$/, 'script-missing'],
]
const CWD = /^\/upstreams\/([^/]+)\/cwd$/
/** Clients that attach need no listener. */
const ATTACHED = /^no listeners/
const NOT_THERE = /does not exist|is not on the PATH/

/** Runners by what brings them. */
const BROUGHT_BY: Readonly<Record<string, string>> = {
  npx: 'Install Node.js, or write the whole path of npx',
  node: 'Install Node.js, or write the whole path of node',
  bunx: 'Install Bun: https://bun.sh',
  uvx: 'Install uv: https://docs.astral.sh/uv',
  uv: 'Install uv: https://docs.astral.sh/uv',
  python3: 'Install Python 3, or write its whole path',
  docker: 'Install Docker, or a program that takes its commands, such as podman',
}

/** Findings about a configuration that does not load. */
export function unloadable(thrown: unknown, { terminal }: DoctorContext): Complaint[] {
  if (!(thrown instanceof GatewayError)) throw thrown
  const { code, message, hint, fields } = thrown
  if (code === 'GW_CONFIG_NOT_FOUND') return [complaint('config-missing', { why: message })]
  const problems = Array.isArray(fields.problems) ? (fields.problems as Problem[]) : []
  if (problems.length === 0)
    return [complaint('config-invalid', { place: '', why: message, hint: hint || 'gateway validate' })]
  return problems.map(problem => ofProblem(problem, terminal.cwd, undefined))
}

/** Findings about one that does: what is doubtful in it, and plugins that do not set up. */
export async function configurationFindings({ source, terminal }: DoctorContext): Promise<Complaint[]> {
  if (source === undefined) return []
  const warnings = source.warnings
    .filter(({ message }) => !ATTACHED.test(message))
    .map(problem => ofProblem(problem, terminal.cwd, source))
  const broken = await setupFailure(source, terminal)
  if (broken === undefined) return warnings
  const { message: why, hint } = broken
  return [...warnings, complaint('plugin-broken', { why, hint })]
}

/** Builds a gateway of which nothing is started, and says why that fails; undefined where it does not. */
async function setupFailure(source: LoadedConfig, terminal: Terminal): Promise<GatewayError | undefined> {
  try {
    await withUnstarted(source, terminal, () => Promise.resolve())
    return undefined
  } catch (error) {
    return error instanceof GatewayError ? error : gatewayError('GW_INTERNAL', { cause: error })
  }
}

function ofProblem(problem: Problem, cwd: string, source: LoadedConfig | undefined): Complaint {
  const { pointer, message: why, hint = 'gateway validate says more', severity } = problem
  const place = formatLocation(problem, cwd)
  if (UNSET.test(why)) return complaint('variable-missing', { place, why, hint })
  if (UNREAD.test(why)) return complaint('secret-missing', { place, why })
  if (NOT_THERE.test(why)) {
    const known = missing(problem, hint) ?? missingDirectory(pointer, source)
    if (known !== undefined) return known
  }
  return complaint(severity === 'error' ? 'config-invalid' : 'config-doubtful', { place, why, hint })
}

function missing({ pointer, message: why }: Problem, hint: string): Complaint | undefined {
  for (const [pattern, code] of MISSING) {
    const upstream = pattern.exec(pointer)?.[1]
    if (upstream === undefined) continue
    const [program = ''] = why.split(' ')
    return complaint(code, { upstream, why, hint: BROUGHT_BY[program] ?? hint })
  }
  return undefined
}

function missingDirectory(pointer: string, source: LoadedConfig | undefined): Complaint | undefined {
  const upstream = CWD.exec(pointer)?.[1]
  const spec = source?.config.upstreams[upstream ?? '']
  if (upstream === undefined || source === undefined || spec?.type !== 'stdio') return undefined
  const path = resolve(source.directory, spec.cwd ?? '.')
  const found = complaint('directory-missing', { upstream, path })
  return {
    ...found,
    mend: { says: `mkdir ${path}`, run: () => makeDirectory(path, 0o700).then(() => undefined) },
  }
}

/** `gateway.yaml:5:5 /upstreams/files/env` */
function formatLocation({ file, line, col, pointer }: Problem, cwd: string): string {
  const shown = file !== undefined && isAbsolute(file) ? relative(cwd, file) : file
  const place = shown === undefined ? [] : [line === undefined ? shown : `${shown}:${line}:${col ?? 1}`]
  return [...place, ...(pointer === '' ? [] : [pointer])].join(' ')
}
