import { jsonOf } from '../../util/plain-data.ts'
import { isObject } from '../../protocol/json/json.ts'
import { findProgram } from '../../util/find-program.ts'
import { scriptBehind } from '../../util/process/npm-shim.ts'
import { oneLine } from '../../util/plain-text.ts'
import { foldersIn } from '../../util/platform.ts'
import { outputOfProgram } from '../background/own-program.ts'
import type { Terminal } from '../output/terminal.ts'
import { SaidNo, type KeptAnswers } from './kept-answers.ts'
import { usage } from './target.ts'
import type { Host } from '../host.ts'

/** A package of npm without a version; nothing that npm could take for a flag, a file or a URL. */
const UNVERSIONED = /^npm:((?:@[a-z0-9][a-z0-9._-]{0,99}\/)?[a-z0-9][a-z0-9._-]{0,199})$/
const EXACT = /^\d[0-9A-Za-z.+_-]{0,99}$/
/** Nobody waits for the third try of a registry that is not there. */
const FLAGS = ['--json', '--fetch-retries=0', '--fetch-timeout=15000', '--no-update-notifier']

/** Argument of `gateway add` with the version that npm gives today, and a note about it. */
export interface Versioned {
  readonly what: string | undefined
  readonly notes: readonly string[]
}

/**
 * Asks npm for the latest version of a package that has none, as a version that is pinned stays the same. It is npm that is
 * asked, since it knows which registry of its owner's has the package.
 * @throws GatewayError GW_USAGE where npm cannot say
 */
export async function withVersion(
  what: string | undefined,
  kept: KeptAnswers,
  terminal: Terminal,
  host: Host,
): Promise<Versioned> {
  const name = UNVERSIONED.exec(what ?? '')?.[1]
  if (name === undefined || name.includes('..')) return { what, notes: [] }
  const registry = terminal.environment['npm_config_registry'] ?? ''
  try {
    const version = await kept.answer(`npm ${registry} ${name}`, () => latestOf(name, terminal, host))
    if (typeof version !== 'string' || !EXACT.test(version)) throw new Error('it names no exact version')
    return { what: `npm:${name}@${version}`, notes: [`${version} is the latest ${name}`] }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw usage(`npm does not say the latest version of ${name}: ${why}; write npm:${name}@<version>`)
  }
}

async function latestOf(name: string, terminal: Terminal, host: Host): Promise<unknown> {
  const { environment, cwd } = terminal
  const npm = findProgram('npm', foldersIn(environment['PATH']), cwd)
  if (npm === undefined) throw new Error('there is no npm here')
  const script = scriptBehind(npm)
  const line = ['view', `${name}@latest`, 'version', ...FLAGS]
  const [program, args] = script === undefined ? [npm, line] : [host.execPath, [script, ...line]]
  const { text, why } = await outputOfProgram(program, args, { cwd, env: environment })
  const said = jsonOf(text)
  if (why === undefined) return said
  const error = isObject(said) && isObject(said.error) ? said.error : {}
  if (error.code === 'E404') throw new SaidNo('there is no such package')
  const { summary } = error
  throw new Error(oneLine(typeof summary === 'string' && summary !== '' ? summary : why).slice(0, 200))
}
