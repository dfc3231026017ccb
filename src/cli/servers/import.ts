import { existsSync, realpathSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { toYaml } from '../../config/source/plain-yaml.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { toOneLine, plural } from '../../util/plain-text.ts'
import { writeFileAtomic } from '../../util/storage/files.ts'
import { CLIENTS, findSettingsFile } from './clients.ts'
import type { Terminal } from '../output/terminal.ts'
import type { EntryNotes } from './formats.ts'
import { convertServers, readSettings } from './formats.ts'
import { ServerCollector } from './find-servers.ts'
import { convertEntry } from './server-entry.ts'
import { escapePlaceholders, extractSecrets, writeTokens } from './tokens.ts'

/** Schema path in a local installation. */
const INSTALLED_SCHEMA = './node_modules/tapgate/schemas/gateway.json'

/** Formats the schema comment for editors, which points to the schema of this gateway version. */
export function formatSchemaLine(target: string, launcher = String(process.argv[1])): string {
  return `# yaml-language-server: $schema=${formatSchemaComment(launcher, target)}`
}

function formatSchemaComment(launcher: string, target: string): string {
  // A global installation is called through a link, so resolve the launcher first.
  const schema = existsSync(launcher) && resolve(dirname(realpathSync(launcher)), '../schemas/gateway.json')
  if (schema === false || !existsSync(schema)) return INSTALLED_SCHEMA
  const path = relative(dirname(target), schema)
  return path.startsWith('..') ? schema : `./${path}`
}

interface ImportOptions {
  readonly files: readonly string[]
  readonly output: string
  readonly force: boolean
  /** Print instead of writing. */
  readonly dryRun: boolean
  /** Remote gateway URL in a split configuration. */
  readonly remote: string
  /** Directory for token files; undefined keeps tokens in the configuration. */
  readonly secrets?: string | undefined
  readonly cwd: string
  readonly environment?: Terminal['environment']
}

export interface ImportResult {
  /** Relative to the working directory if nearby, with forward slashes; undefined for a dry run. */
  readonly file: string | undefined
  readonly format: string
  readonly upstreams: readonly string[]
  /** Unsupported and renamed settings. */
  readonly notes: readonly string[]
  /** Keys that only concern the client. */
  readonly left: readonly string[]
  /** Required environment variables. */
  readonly variables: readonly string[]
  /** Literal token locations, and the tokens' new directory. */
  readonly tokens: { readonly places: readonly string[]; readonly directory: string | undefined }
  /** Commands that connect each client. */
  readonly connect: readonly string[]
  readonly text: string
}

/**
 * Creates gateway.yaml from client settings.
 * @throws GatewayError GW_IMPORT, GW_FILE_EXISTS
 */
export async function importServers(options: ImportOptions): Promise<ImportResult> {
  const { files, output, force, dryRun, secrets, cwd, environment = {} } = options
  const target = resolve(cwd, output)
  const fromHere = relative(cwd, target).split(sep).join('/')
  const displayPath = fromHere.startsWith('../..') ? target : fromHere
  const collector = new ServerCollector(false)
  const read = await Promise.all(files.map(file => readSettings(resolve(cwd, file))))
  if (!dryRun && !force && existsSync(target)) throw gatewayError('GW_FILE_EXISTS', { file: displayPath })
  const parts = read.map((settings, i) => convertSettings(settings, String(files[i]), options, collector))
  const { notes, leftKeys } = collector
  const named = listUpstreams(collector, files)
  const { tokens, upstreams } = extractSecrets(named, file => formatTokenReference(secrets ?? '', file))
  const sections = parts.reduce((all, part) => ({ ...all, ...part.sections }), {})
  const head = { version: 1, listeners: { stdio: { type: 'stdio' } }, ...sections }
  const text = formatConfig({ ...head, upstreams: secrets === undefined ? named : upstreams }, files, target)
  if (!dryRun) {
    if (secrets !== undefined) await writeTokens(tokens, resolve(dirname(target), secrets))
    // The file may contain secrets, so only its owner can read it.
    await writeFileAtomic(target, Buffer.from(text), rename)
  }
  const connect = files.map(file => formatConnectCommand(resolve(cwd, file), displayPath, { cwd, environment }))
  return {
    file: dryRun ? undefined : displayPath,
    format: [...new Set(parts.map(({ format }) => format))].join(', '),
    upstreams: Object.keys(upstreams),
    notes: [...notes],
    left: [...leftKeys].sort(),
    variables: listVariables(text),
    tokens: { places: tokens.map(({ location }) => toOneLine(location)), directory: secrets },
    connect: [...new Set(connect)],
    text,
  }
}

/** @throws GatewayError GW_IMPORT if there is none */
function listUpstreams({ servers }: ServerCollector, files: readonly string[]): JsonObject {
  if (servers.length > 0) return Object.fromEntries(servers.map(({ name, upstream }) => [name, upstream]))
  throw gatewayError('GW_IMPORT', { file: files.join(', '), why: 'no server could be converted' })
}

function formatTokenReference(directory: string, file: string): string {
  return `\${file:${isAbsolute(directory) ? '' : './'}${escapePlaceholders(directory)}/${file}}`
}

interface ConvertedSettings {
  readonly format: string
  /** Top-level keys other than upstreams. */
  readonly sections: JsonObject
}

/** Adds the servers in settings to the collector. */
function convertSettings(
  settings: JsonObject,
  file: string,
  { remote, cwd: directory }: Pick<ImportOptions, 'remote' | 'cwd'>,
  collector: ServerCollector,
): ConvertedSettings {
  if (isSplitConfig(settings)) {
    const { upstreams, ...sections } = convertSplitConfig(settings, remote, directory, collector)
    for (const [name, upstream] of Object.entries(upstreams as JsonObject))
      collector.add(name, upstream as JsonObject, file)
    return { format: 'local and remote tools', sections }
  }
  const { format, entries } = convertServers(settings, { file, directory }, collector)
  for (const { originalName, upstream } of entries) {
    const name = collector.add(originalName, upstream, file)
    if (name !== originalName) collector.note(originalName, `renamed to "${name}"`)
  }
  return { format, sections: {} }
}

/** Returns the command that connects the client of these settings. */
function formatConnectCommand(
  settings: string,
  config: string,
  terminal: Pick<Terminal, 'cwd' | 'environment'>,
): string {
  const findImportedClient = (scope: 'user' | 'project'): string | undefined =>
    CLIENTS.find(one => findSettingsFile(one, scope, terminal) === settings)?.name
  const project = findImportedClient('project')
  const client = project === undefined ? (findImportedClient('user') ?? '') : `${project} --scope project`
  return `gateway connect ${client} -c ${config}`.replace('  ', ' ')
}

/** True for a file with local servers and remote tools. */
export function isSplitConfig(settings: JsonObject): boolean {
  return isObject(settings.localServers) || Array.isArray(settings.remoteTools)
}

/** Creates a local gateway in front of a remote one, with unchanged names. */
export function convertSplitConfig(
  settings: JsonObject,
  remote: string,
  directory: string,
  { note, leave }: EntryNotes,
): JsonObject {
  const locals = Object.entries(isObject(settings.localServers) ? settings.localServers : {})
  const upstreams: JsonObject = {}
  for (const [name, server] of locals) {
    if (!isObject(server)) continue
    const { workingDirectory, ...rest } = server
    const isProject = isProjectRoot(workingDirectory)
    const converted = convertEntry(
      isProject ? rest : server,
      { placeholders: 'braces', timeout: 'either', inputs: new Map(), directory },
      { note: text => note(name, text), leave: key => leave(name, key) },
    )
    if ('why' in converted) note(name, `skipped: ${converted.why}`)
    else upstreams[name] = { ...converted.upstream, prefix: '', ...(isProject ? { cwd: 'project' } : {}) }
  }
  const tools = Array.isArray(settings.remoteTools)
    ? settings.remoteTools.map(tool => escapePlaceholders(String(tool)))
    : undefined
  if (tools === undefined) return { upstreams }
  upstreams.remote = { type: 'http', url: remote, prefix: '', tools: { allow: tools } }
  return { upstreams, sessionHeaders: { upstreams: ['remote'] } }
}

/** `project_root` is the client's working directory. */
function isProjectRoot(value: unknown): boolean {
  return typeof value === 'string' && /^\$?\{?project_?root\}?$/i.test(value)
}

function formatConfig(config: JsonObject, from: readonly string[], target: string): string {
  const names = from.map(file => basename(file)).join(', ')
  const head = [formatSchemaLine(target), `# Created from ${toOneLine(names)} by "gateway import".`]
  return `${head.join('\n')}\n${toYaml(config)}`
}

/** Lists the variables in a text. */
export function listVariables(text: string): string[] {
  const names = [...text.matchAll(/(?<!\$)\$\{(?:env:)?([A-Za-z_]\w*)\}/g)].map(([, name]) => name as string)
  return [...new Set(names)].filter(name => name !== 'HOME').sort()
}

export function formatImport(imported: ImportResult, { out }: Terminal): string[] {
  const { file, format, upstreams, notes, left, variables, connect, text } = imported
  if (file === undefined) return text.trimEnd().split('\n')
  const count = plural(upstreams.length, 'upstream')
  return [
    `${out.paint('green', 'wrote')} ${file}: ${count} (${upstreams.join(', ')}), from ${format}`,
    ...(variables.length > 0 ? [`${out.paint('yellow', 'needs')} ${variables.join(', ')} in the environment`] : []),
    ...formatTokens(imported, out),
    ...(left.length > 0 ? [`${out.paint('dim', 'not imported:')} ${left.join(', ')}`] : []),
    '',
    out.paint('dim', 'Check it:'),
    `  gateway validate -c ${file}`,
    out.paint('dim', 'Then connect your client to the gateway instead:'),
    ...connect.map(line => `  ${line}`),
    ...(notes.length > 0 ? [''] : []),
  ]
}

/** Formats the token locations. */
function formatTokens({ file = '', tokens: { places, directory } }: ImportResult, out: Terminal['out']): string[] {
  if (places.length === 0) return []
  const tokensText = `${plural(places.length, 'token')} (${places.join(', ')})`
  const text =
    directory === undefined
      ? `${tokensText} into ${file}, readable only by you; --secrets <directory> moves them to separate files`
      : `${tokensText} into files in ${directory}, readable only by you`
  return [`${out.paint('yellow', 'copied')} ${text}`]
}
