import { existsSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'
import { PLUGIN_TEMPLATE } from './plugin-template.ts'
import type { Terminal } from '../output/terminal.ts'

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/
const LONGEST_NAME = 64

interface NewPluginOptions {
  readonly name: string
  /** The directory its own directory goes into. */
  readonly dir: string
  readonly force: boolean
  readonly cwd: string
  /** The gateway's own package: its name, its version, and where it is. */
  readonly own: { readonly name: string; readonly version: string; readonly root: string }
}

/** What was written. */
export interface NewPlugin {
  readonly name: string
  /** Relative to the working directory, with forward slashes. */
  readonly directory: string
  readonly files: readonly string[]
}

/** Writes a plugin that passes its own test. */
export async function newPlugin({ name, dir, force, cwd, own }: NewPluginOptions): Promise<NewPlugin> {
  await checkName(name)
  const target = resolve(cwd, dir, name)
  const directory = relative(cwd, target).split(sep).join('/')
  const files = Object.keys(PLUGIN_TEMPLATE)
  const inTheWay = files.find(file => existsSync(join(target, file)))
  if (inTheWay !== undefined && !force)
    throw gatewayError('GW_FILE_EXISTS', { file: `${directory}/${inTheWay}` })
  await mkdir(target, { recursive: true })
  const words: Readonly<Record<string, string>> = {
    NAME: name,
    DIRECTORY: directory,
    VERSION: own.version,
  }
  for (const [file, text] of Object.entries(PLUGIN_TEMPLATE))
    await writeFile(
      join(target, file),
      text.replace(/NAME|DIRECTORY|VERSION/g, word => words[word] ?? word),
    )
  await provide(own.name, own.root, target)
  return { name, directory, files: files.map(file => `${directory}/${file}`) }
}

/** Links the gateway beside the plugin where it would not be found: it may be installed globally, or nowhere yet. */
async function provide(name: string, root: string, target: string): Promise<void> {
  try {
    createRequire(join(target, 'index.ts')).resolve(`${name}/plugin`)
  } catch {
    const link = join(target, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await rm(link, { force: true, recursive: true })
    await symlink(root, link, 'junction')
  }
}

/** What to do with it. */
export function nextSteps({ name, directory, files }: NewPlugin, { out }: Terminal): string[] {
  return [
    ...files.map(file => `${out.paint('green', 'wrote')} ${file}`),
    '',
    out.paint('dim', 'Test it:'),
    `  npm test --prefix ${directory}`,
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
  const { builtins } = await import('../../gateway/builtins.ts')
  if (builtins.some(builtin => builtin.name === name)) {
    throw gatewayError('GW_USAGE', { what: `"${name}" is the name of a built-in plugin` })
  }
}
