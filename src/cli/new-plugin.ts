import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { gatewayError } from '../errors.ts'
import { PLUGIN_TEMPLATE } from './plugin-template.ts'
import type { Terminal } from './terminal.ts'

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/
const LONGEST_NAME = 64

interface NewPluginOptions {
  readonly name: string
  /** The directory its own directory goes into. */
  readonly dir: string
  readonly force: boolean
  readonly cwd: string
}

/** What was written. */
export interface NewPlugin {
  readonly name: string
  /** Relative to the working directory, with forward slashes. */
  readonly directory: string
  readonly files: readonly string[]
}

/** Writes a plugin that passes its own test. */
export async function newPlugin({ name, dir, force, cwd }: NewPluginOptions): Promise<NewPlugin> {
  await checkName(name)
  const target = resolve(cwd, dir, name)
  const directory = relative(cwd, target).split(sep).join('/')
  const files = Object.keys(PLUGIN_TEMPLATE)
  const inTheWay = files.find(file => existsSync(join(target, file)))
  if (inTheWay !== undefined && !force)
    throw gatewayError('GW_FILE_EXISTS', { file: `${directory}/${inTheWay}` })
  await mkdir(target, { recursive: true })
  for (const [file, text] of Object.entries(PLUGIN_TEMPLATE)) {
    await writeFile(join(target, file), text.replaceAll('NAME', name).replaceAll('DIRECTORY', directory))
  }
  return { name, directory, files: files.map(file => `${directory}/${file}`) }
}

/** What to do with it. */
export function nextSteps({ name, directory, files }: NewPlugin, { out }: Terminal): string[] {
  return [
    ...files.map(file => `${out.paint('green', 'wrote')} ${file}`),
    '',
    out.paint('dim', 'Test it:'),
    `  node --test ${directory}/index.test.ts`,
    out.paint('dim', 'Enable it in gateway.yaml:'),
    '  plugins:',
    `    ${name}:`,
    `      use: ./${directory}/index.ts`,
    '      options: { deny: [some__tool] }',
  ]
}

async function checkName(name: string): Promise<void> {
  if (!NAME.test(name) || name.length > LONGEST_NAME) {
    throw gatewayError('GW_USAGE', {
      what: `"${name}" is no name for a plugin: use lower-case letters, digits and single dashes`,
    })
  }
  const { builtins } = await import('../builtins.ts')
  if (builtins.some(builtin => builtin.name === name)) {
    throw gatewayError('GW_USAGE', { what: `"${name}" is the name of a built-in plugin` })
  }
}
