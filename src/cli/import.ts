import { existsSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { basename, relative, resolve, sep } from 'node:path'
import { toYaml } from '../config/plain-yaml.ts'
import { gatewayError } from '../errors.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import { ofProject } from './import/claude-projects.ts'
import { formatOf } from './import/formats.ts'
import { readSettings } from './import/read.ts'
import { isSplit, splitConfig } from './import/seed.ts'
import { convert } from './import/server.ts'
import { oneLine } from './plain-text.ts'
import { plural } from './plural.ts'
import type { Terminal } from './terminal.ts'

interface ImportOptions {
  readonly file: string
  readonly output: string
  readonly force: boolean
  /** Shows what would be written instead. */
  readonly dryRun: boolean
  /** Where the remote gateway of a split configuration is. */
  readonly remote: string
  readonly cwd: string
}

/** What was read and written. */
export interface Imported {
  /** Relative to the working directory, with forward slashes; undefined on a dry run. */
  readonly file: string | undefined
  /** Whose settings they were. */
  readonly format: string
  readonly upstreams: readonly string[]
  /** What could not be carried over, or has another name now. */
  readonly notes: readonly string[]
  /** Variables that must be set. */
  readonly variables: readonly string[]
  readonly text: string
}

/**
 * Writes a gateway.yaml from another program's list of servers.
 * @throws GatewayError GW_IMPORT, GW_FILE_EXISTS
 */
export async function importServers({
  file,
  output,
  force,
  dryRun,
  remote,
  cwd,
}: ImportOptions): Promise<Imported> {
  const target = resolve(cwd, output)
  const shown = relative(cwd, target).split(sep).join('/')
  const read = await readSettings(resolve(cwd, file))
  if (!dryRun && !force && existsSync(target)) throw gatewayError('GW_FILE_EXISTS', { file: shown })
  const notes: string[] = []
  const note = (name: string, text: string): void => void notes.push(oneLine(`${name}: ${text}`))
  const settings = ofProject(read, cwd, note)
  const { format, config } = configFrom(settings, file, remote, note)
  const upstreams = Object.keys(config.upstreams as JsonObject)
  if (upstreams.length === 0)
    throw gatewayError('GW_IMPORT', { file, why: 'none of its servers could be read' })
  const text = textOf(config, basename(file))
  if (!dryRun) await replace(target, text)
  const variables = variablesIn(text)
  return { file: dryRun ? undefined : shown, format, upstreams, notes: [...new Set(notes)], variables, text }
}

function configFrom(
  settings: JsonObject,
  file: string,
  remote: string,
  note: (name: string, text: string) => void,
): { format: string; config: JsonObject } {
  const head = { version: 1, listeners: { stdio: { type: 'stdio' } } }
  if (isSplit(settings))
    return { format: 'local and remote tools', config: { ...head, ...splitConfig(settings, remote, note) } }
  const { format, servers } = formatOf(settings, file)
  const upstreams: Record<string, JsonObject> = {}
  for (const [given, server] of servers) {
    const converted = convert(server, format.placeholders, text => note(given, text))
    if ('why' in converted) {
      note(given, `left out: ${converted.why}`)
      continue
    }
    const name = free(named(given), upstreams)
    if (name !== given) note(given, `is called "${name}" here`)
    upstreams[name] = converted.upstream
  }
  return { format: format.title, config: { ...head, upstreams } }
}

/** A name as ours are: lower case, digits and hyphens. */
function named(given: string): string {
  const name = given
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 28)
    .replace(/-+$/, '')
  return name === '' ? 'server' : name
}

function free(name: string, taken: Readonly<Record<string, unknown>>): string {
  for (let number = 2, candidate = name; ; number++) {
    if (!Object.hasOwn(taken, candidate)) return candidate
    candidate = `${name}-${number}`
  }
}

function textOf(config: JsonObject, from: string): string {
  const head = [
    '# yaml-language-server: $schema=./node_modules/tapgate/schemas/gateway.json',
    `# Made from ${oneLine(from)} by "gateway import".`,
  ]
  return `${head.join('\n')}\n${toYaml(config)}`
}

/** Whole or not at all, and for its owner only: settings may hold secrets. */
async function replace(target: string, text: string): Promise<void> {
  const draft = `${target}.${process.pid}.new`
  await writeFile(draft, text, { mode: 0o600 })
  await rename(draft, target)
}

function variablesIn(text: string): string[] {
  const found = [...text.matchAll(/(?<!\$)\$\{(?:env:)?([A-Za-z_]\w*)\}/g)].map(([, name]) => name as string)
  return [...new Set(found)].filter(name => name !== 'HOME').sort()
}

/** What was done, and what is left to do. */
export function importLines(
  { file, format, upstreams, notes, variables, text }: Imported,
  { out }: Terminal,
): string[] {
  if (file === undefined) return text.trimEnd().split('\n')
  return [
    `${out.paint('green', 'wrote')} ${file}: ${plural(upstreams.length, 'upstream')} (${upstreams.join(', ')}), from ${format}`,
    ...(variables.length > 0
      ? [`${out.paint('yellow', 'needs')} ${variables.join(', ')} in the environment`]
      : []),
    '',
    out.paint('dim', 'Check it, then give your client this gateway in place of them:'),
    `  gateway validate -c ${file}`,
    `  gateway serve -c ${file}`,
    ...(notes.length > 0 ? [''] : []),
  ]
}
