import { dirname, resolve } from 'node:path'
import { gatewayError } from '../errors/errors.ts'
import { findConfig } from './source/find.ts'
import { finish } from './finish.ts'
import type { LoadedConfig } from './finish.ts'
import { interpolate } from './source/interpolate.ts'
import type { Environment } from './source/interpolate.ts'
import { mergeTrees } from './source/merge.ts'
import { overlayFile } from './source/overlay.ts'
import { hasErrors, invalidConfig, problemAt } from './problem.ts'
import type { Problem, ReportProblem } from './problem.ts'
import { whyUnreadable } from './source/read.ts'
import { withSettings } from './source/settings.ts'
import { Sources } from './source/sources.ts'
import type { Origin, Tree } from './source/tree.ts'

export interface LoadOptions {
  /** Path of the configuration; looked for from `cwd` upwards when absent. */
  readonly file?: string | undefined
  /** Name of the environment; default: GATEWAY_ENV. */
  readonly env?: string | undefined
  /** Settings such as `upstreams.web.timeout=30s`. */
  readonly set?: readonly string[] | undefined
  readonly cwd: string
  readonly environment: Environment
}

/** Finds, reads, merges, fills in and checks a configuration; throws every problem at once. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { cwd, environment } = options
  const file =
    options.file === undefined
      ? await findConfig(cwd, environment.HOME ?? environment.USERPROFILE)
      : resolve(cwd, options.file)
  const why = whyUnreadable(file)
  if (why !== undefined) throw gatewayError('GW_CONFIG_UNREADABLE', { file, why })
  const problems: Problem[] = []
  const report: ReportProblem = problem => problems.push(problem)

  const sources = new Sources(report)
  const tree = withSettings(readAll(file, options, sources, report), options.set ?? [], report)
  if (tree === undefined || hasErrors(problems)) throw invalidConfig(problems)
  const { tree: filled, secrets, broken, files } = interpolate(tree, environment, cwd, report)
  return finish({
    tree: filled,
    file,
    files: [...sources.files, ...files],
    directory: dirname(file),
    secrets,
    broken,
    problems,
    searchPath: environment.PATH,
  })
}

function readAll(
  file: string,
  options: LoadOptions,
  sources: Sources,
  report: ReportProblem,
): Tree | undefined {
  const origin: Origin = { from: 'file', file, line: 1, col: 1 }
  const tree = sources.load(file, origin)
  const wanted = options.env ?? options.environment.GATEWAY_ENV
  if (wanted === undefined || wanted === '') return tree
  const overlay = overlayFile(file, wanted)
  if (!('file' in overlay)) report(problemAt(origin, overlay))
  const over = 'file' in overlay ? sources.load(overlay.file, origin) : undefined
  return over === undefined ? tree : mergeTrees(tree, over)
}
