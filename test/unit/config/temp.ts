import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { loadConfig } from '../../../src/gateway/load-config.ts'
import type { LoadedConfig, LoadOptions, Problem } from '../../../src/config/index.ts'
import { GatewayError } from '../../../src/errors/errors.ts'
import { formatProblem } from '../../../src/config/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

/** A real directory with the given files, gone after the test. */
export function directoryWith(t: TestContext, files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'config-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  return directory
}

/** Loads gateway.yaml from a directory with the given files. */
export function load(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  options: Partial<LoadOptions> = {},
): Promise<LoadedConfig> {
  const cwd = directoryWith(t, files)
  return loadConfig({ cwd, environment: { HOME: cwd }, ...options })
}

/** The problems of a configuration, formatted; warnings of a good one are marked as such. */
export async function linesOf(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  options: Partial<LoadOptions> = {},
): Promise<string[]> {
  const cwd = directoryWith(t, files)
  const problems = await problemsOf(loadConfig({ cwd, environment: { HOME: cwd }, ...options }))
  return problems.map(problem =>
    `${problem.severity === 'warning' ? 'warning: ' : ''}${formatProblem(problem, cwd)}`.replaceAll(cwd, '<dir>'),
  )
}

/** All problems, whether they were thrown or are only warnings. */
export async function problemsOf(loading: Promise<LoadedConfig>): Promise<readonly Problem[]> {
  try {
    return (await loading).warnings
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'GW_CONFIG_INVALID')
      return thrown.fields.problems as Problem[]
    throw thrown
  }
}
