import { isAbsolute, relative } from 'node:path'
import { plural } from '../util/plain-text.ts'
import type { GatewayError } from '../errors/errors.ts'
import { gatewayError } from '../errors/errors.ts'
import type { Finding } from '../util/finding.ts'
import { pointerParent } from '../util/finding.ts'
import type { ValueOrigin } from './source/tree.ts'

const MAX_SHOWN = 100

/** A configuration error or warning, also used as JSON. */
export interface Problem {
  /** Absolute path, or `--set`; undefined if created from a value. */
  readonly file: string | undefined
  readonly line: number | undefined
  readonly col: number | undefined
  /** JSON pointer; empty for the whole configuration. */
  readonly pointer: string
  readonly message: string
  readonly hint?: string
  readonly severity: 'error' | 'warning'
}

/** Key and value positions, by JSON pointer. */
export interface ConfigPositions {
  readonly keys: ReadonlyMap<string, ValueOrigin>
  readonly origins: ReadonlyMap<string, ValueOrigin>
  /** Plugins configured as a top-level section. */
  readonly sections: ReadonlySet<string>
}

export type ReportProblem = (problem: Problem) => void

/** Adds a location to a finding. */
export function createProblem(origin: ValueOrigin | undefined, finding: Finding): Problem {
  const { pointer, message, hint, severity = 'error' } = finding
  return { ...getLocation(origin), pointer, message, ...(hint === undefined ? {} : { hint }), severity }
}

/** Locates a finding at the nearest written position. */
export function locateProblem({ keys, origins, sections }: ConfigPositions, finding: Finding): Problem {
  const { pointer, on } = finding
  for (let at = pointer; ; at = pointerParent(at)) {
    const origin = (at !== pointer || on === 'key' ? keys.get(at) : undefined) ?? origins.get(at)
    if (at === '' || (origin !== undefined && origin.from !== 'default'))
      return createProblem(origin, { ...finding, pointer: toWrittenPointer(pointer, sections) })
  }
}

/** Maps `/plugins/budget/options/perDay` to the written `/budget/perDay`. */
function toWrittenPointer(pointer: string, sections: ReadonlySet<string>): string {
  const [, name = '', rest = ''] = /^\/plugins\/([^/]+)\/options(\/.*)?$/.exec(pointer) ?? []
  return sections.has(name) ? `/${name}${rest}` : pointer
}

/** Formats as `gateway.yaml:5:5 /upstreams/files/comand unknown key "comand" – did you mean "command"?` */
export function formatProblem(problem: Problem, cwd: string): string {
  const { file, line, col, pointer, message, hint } = problem
  const displayPath = file !== undefined && isAbsolute(file) ? relative(cwd, file) : file
  const position =
    displayPath === undefined ? [] : [line === undefined ? displayPath : `${displayPath}:${line}:${col ?? 1}`]
  const text = hint === undefined ? message : `${message} – ${hint}`
  return [...position, ...(pointer === '' ? [] : [pointer]), text].join(' ')
}

/** Creates GW_CONFIG_INVALID with all problems in file order. */
export function invalidConfig(problems: readonly Problem[]): GatewayError {
  const errors = problems.filter(problem => problem.severity === 'error')
  const warnings = problems.length - errors.length
  const count = [plural(errors.length, 'problem'), ...(warnings > 0 ? [plural(warnings, 'warning')] : [])]
  return gatewayError('GW_CONFIG_INVALID', {
    count: count.join(' and '),
    problems: limitProblems(sortProblems(problems)),
  })
}

function limitProblems(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= MAX_SHOWN) return problems
  const message = `and ${problems.length - MAX_SHOWN} more`
  return [...problems.slice(0, MAX_SHOWN), createProblem(undefined, { pointer: '', message })]
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(problem => problem.severity === 'error')
}

/** Sorts by file and position, without duplicates. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  const unique = [...new Map(problems.map(problem => [JSON.stringify(problem), problem])).values()]
  const files = [...new Set(unique.map(problem => problem.file))]
  const rank = (problem: Problem) => files.indexOf(problem.file)
  return unique.sort((a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.col ?? 0) - (b.col ?? 0))
}

function getLocation(origin: ValueOrigin | undefined): Pick<Problem, 'file' | 'line' | 'col'> {
  if (origin?.from === 'file') return { file: origin.file, line: origin.line, col: origin.col }
  return { file: origin?.from === 'set' ? '--set' : undefined, line: undefined, col: undefined }
}
