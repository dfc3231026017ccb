import { unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { LoadedConfig } from '../../config/index.ts'
import { withConfig } from '../../config/index.ts'
import { fromYaml } from '../../config/source/plain-yaml.ts'
import { gatewayError } from '../../errors/errors.ts'
import { disableRecords } from '../../gateway/load-config.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { findProgram } from '../../util/find-program.ts'
import { readMap, readText } from '../../util/plain-data.ts'
import { getPlatform, splitPath } from '../../util/platform.ts'
import { estimateTokens } from '../../util/units.ts'
import { findConfigFile } from '../load-source.ts'
import { withGateway } from '../local/gateway-handle.ts'
import { withProgress } from '../output/progress.ts'
import { listAllTools } from '../local/tools.ts'
import type { AskQuestion } from '../output/prompt.ts'
import { canAsk, withQuestions } from '../output/prompt.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { EditedConfig } from './edit-config.ts'
import { applyChange, rejectChange, withDraftConfig, writeChange } from './edit-config.ts'
import type { Answers, Input, LaunchOption } from './launch-options.ts'
import {
  escapeReferences,
  findMissingInputs,
  formatFlag,
  getInputKey,
  listLaunchOptions,
  parsePackage,
  parseRemote,
} from './launch-options.ts'
import type { RegistrySource } from './registry.ts'
import { Registry, REGISTRY_NAME } from './registry.ts'
import { createCommandFetch, discoverServer, isRemoteAt, joinExcerpts } from './server-card.ts'
import { derivePackageName, deriveCommandName } from '../server-names.ts'
import { readSettingsFile } from './settings-editor.ts'
import { createLocalEntry, createRemoteEntry } from './server-entry.ts'
import { extractSecrets, formatSecretReference, isSecretText, SECRETS_DIRECTORY, writeTokens } from './tokens.ts'

/** Sections that affect how an upstream starts. */
const STARTUP_SECTIONS: ReadonlySet<string> = new Set(
  'version server log lists shutdown control hooks processes secrets network cache overload'.split(' '),
)

export interface TrialResult {
  readonly tools: readonly { readonly name: string; readonly tokens: number }[]
  readonly tokens: number
}

/** Starts one upstream alone and lists its tools. @throws GatewayError GW_ADD_TRIAL */
async function runTrial(
  source: LoadedConfig,
  { name, help }: { readonly name: string; readonly help: string },
  terminal: Terminal,
): Promise<TrialResult> {
  const { config } = disableRecords(source)
  const upstream = config.upstreams[name]
  if (upstream === undefined) throw gatewayError('GW_ADD_TRIAL', { upstream: name, help, why: 'upstream not found' })
  // Drop rules: they may refer to other upstreams and would hide tools.
  const startupSections = Object.fromEntries(
    Object.entries(config).filter(([key]) => STARTUP_SECTIONS.has(key)),
  ) as typeof config
  const alone = { ...startupSections, listeners: {}, plugins: {}, upstreams: { [name]: upstream } }
  return withGateway(withConfig(source, alone), terminal, async gateway => {
    const client = await gateway.connect()
    const tools = await listAllTools(client)
    const [status] = (await gateway.inspect()).upstreams
    if (status?.state !== 'ready')
      throw gatewayError('GW_ADD_TRIAL', {
        ...{ upstream: name, help },
        why: status?.problem ?? `its state is ${status?.state ?? 'unknown'}`,
      })
    const sizes = tools.map(tool => ({ name: tool.name, tokens: estimateTokens(JSON.stringify(tool)) }))
    return { tools: sizes, tokens: sizes.reduce((sum, { tokens }) => sum + tokens, 0) }
  })
}

export interface AddFlags extends ValueFlags {
  readonly config?: string | undefined
  readonly registry?: string | undefined
  readonly name?: string | undefined
  readonly kind?: string | undefined
  /** OpenAPI document base URL. */
  readonly server?: string | undefined
  readonly 'no-start': boolean
  readonly 'no-sandbox': boolean
}

export interface PlannedAddition {
  readonly file: string
  readonly name: string
  readonly launch: LaunchOption
  readonly upstream: JsonObject
  /** The upstream with its secrets, which are not in separate files yet. */
  readonly trial: JsonObject
  readonly secrets: ReturnType<typeof extractSecrets>['tokens']
  readonly edited: EditedConfig
  readonly notes: readonly string[]
}

/** Returns the configuration file to change: `--config`, which may not exist yet, or the nearest one. */
export async function resolveConfigFile(
  flags: { readonly config?: string | undefined },
  terminal: Terminal,
): Promise<string> {
  return flags.config === undefined ? findConfigFile(flags, terminal) : resolve(terminal.cwd, flags.config)
}

export interface RegistryFlags {
  readonly config?: string | undefined
  readonly registry?: string | undefined
}

/** Opens the registry of the flag or the configuration. @throws GatewayError GW_REGISTRY_UNKNOWN */
export async function openRegistry(flags: RegistryFlags, terminal: Terminal): Promise<Registry> {
  return new Registry(await resolveRegistrySource(flags, terminal), createCommandFetch(terminal))
}

async function resolveRegistrySource(
  { registry, config }: { readonly config?: string | undefined; readonly registry?: string | undefined },
  terminal: Terminal,
): Promise<RegistrySource> {
  if (registry !== undefined) return parseRegistrySource(registry, terminal.cwd)
  const file = await resolveConfigFile({ config }, terminal).catch(() => undefined)
  const text = file === undefined ? undefined : (await readSettingsFile(file).catch(() => undefined))?.text
  const section = text === undefined ? {} : readMap(parseYamlOrEmpty(text), 'registry')
  const named = readText(section, 'file')
  if (named !== undefined && file !== undefined) return { file: resolve(dirname(file), named) }
  const url = readText(section, 'url')
  if (url !== undefined) return parseRegistrySource(url, terminal.cwd)
  throw gatewayError('GW_REGISTRY_UNKNOWN')
}

function parseRegistrySource(text: string, cwd: string): RegistrySource {
  return /^https?:\/\//i.test(text) ? { url: text } : { file: resolve(cwd, text) }
}

function parseYamlOrEmpty(text: string): unknown {
  try {
    return fromYaml(text)
  } catch {
    return {}
  }
}

/** Plans an addition and prompts for missing values, without writing. @throws GatewayError */
export async function planAddition(
  {
    targetText,
    command,
    flags,
  }: { readonly targetText: string | undefined; readonly command: readonly string[]; readonly flags: AddFlags },
  terminal: Terminal,
  host: Host,
): Promise<PlannedAddition> {
  const file = await resolveConfigFile(flags, terminal)
  const target = parseTarget(targetText, command)
  const { option, suggested, notes } = await chooseLaunchOption(target, flags, terminal)
  const name = flags.name ?? derivePackageName(suggested)
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name))
    throw createUsageError(
      `"${name}" is not a valid upstream name: use a lower-case letter, then up to 31 letters a-z, digits or hyphens`,
    )
  const answers = parseAnswers(flags)
  await promptForMissing(option.inputs, answers, terminal, host)
  const declaredKeys = new Set(option.inputs.map(getInputKey))
  const more = targetText === undefined ? [] : command
  const made = setServerUrl(addUndeclaredValues(option.upstream(answers, more), answers, declaredKeys), flags.server)
  if (more.length > 0 && made.type !== 'stdio')
    throw createUsageError(`"${targetText ?? ''}" is not a program and takes no arguments`)
  const trial = addSandbox(made, flags, terminal)
  const known = listDeclaredSecrets(option.inputs, answers)
  const { tokens, upstreams } = extractSecrets({ [name]: trial }, formatSecretReference, isSecretText, known)
  const upstream = upstreams[name] as JsonObject
  return {
    ...{ file, name, launch: option, trial, upstream, secrets: tokens, notes },
    edited: await applyChange(file, { name, upstream }),
  }
}

interface LaunchChoice {
  readonly option: LaunchOption
  readonly suggested: string
  readonly notes: readonly string[]
}

async function chooseLaunchOption(target: AddTarget, flags: AddFlags, terminal: Terminal): Promise<LaunchChoice> {
  if (target.by === 'option' && target.url && !flags['no-start']) return applyServerCard(target.url, terminal)
  if (target.by === 'option') return { ...target, notes: [] }
  const registry = await openRegistry(flags, terminal)
  const reading = registry.find(target.name, target.version)
  const entry = await withProgress(terminal, () => 'reading the registry', reading)
  const createAddError = (reason: string): Error => gatewayError('GW_ADD_REFUSED', { server: entry.name, why: reason })
  if (entry.status === 'deleted') throw createAddError('it was deleted from its registry')
  const matches = listLaunchOptions(entry.packages, entry.remotes)
  const options = matches.filter((option): option is LaunchOption => 'kind' in option)
  const option = options.find(({ kind }) => kind === (flags.kind ?? kind))
  if (option === undefined) throw createAddError(explainNoOption(matches, options, flags.kind))
  const notes = entry.status === 'deprecated' ? [`${entry.name} is deprecated in its registry`] : []
  const otherKinds = options.filter(one => one !== option).map(({ kind }) => kind)
  const choice =
    otherKinds.length > 0 && flags.kind === undefined
      ? [`also available as ${otherKinds.join(', ')}; choose with --kind`]
      : []
  return { option, suggested: entry.name, notes: [...notes, ...choice] }
}

/** Takes a server's name and headers from its card, if it has one. */
async function applyServerCard(address: URL, terminal: Terminal): Promise<LaunchChoice> {
  const reading = discoverServer(address, createCommandFetch(terminal))
  const { url, card } = await withProgress(terminal, () => 'reading the server card', reading)
  // A catalog's URL must not contain references, unlike the user's own.
  const href = url === address ? url.href : escapeReferences(url.href)
  const { option, suggested } = parseUrlTarget(href)
  if (card === undefined) return { option, suggested, notes: [] }
  const remotes = card.remotes.filter(one => isRemoteAt(one, url)).map(one => parseRemote(one, href))
  const declared = remotes.find(one => 'kind' in one)
  const about = `server card: ${card.name}: ${joinExcerpts([card.description])}`
  if (declared === undefined) return { option, suggested: card.name, notes: [about] }
  const transport = `transport: ${declared.kind === 'sse' ? 'sse' : 'streamable-http'}, from the server card`
  return { option: declared, suggested: card.name, notes: [about, transport] }
}

function explainNoOption(
  matches: ReturnType<typeof listLaunchOptions>,
  options: readonly LaunchOption[],
  kind = '',
): string {
  if (options.length > 0) return `it has no ${kind}, only ${options.map(one => one.kind).join(', ')}`
  const whys = matches.flatMap(one => ('why' in one ? [one.why] : []))
  return whys.length > 0 ? whys.join('; ') : 'it has no package and no remote'
}

/** Adds variables and headers that the registry entry does not declare. */
function addUndeclaredValues(
  upstream: JsonObject,
  answers: ReadonlyMap<string, string>,
  declaredKeys: ReadonlySet<string>,
): JsonObject {
  const listUndeclared = (kind: string): [string, string][] =>
    [...answers].flatMap(([key, value]) =>
      key.startsWith(`${kind} `) && !declaredKeys.has(key) ? [[key.slice(kind.length + 1), value]] : [],
    )
  const isLocal = upstream.type === 'stdio'
  const [unknown] = [...listUndeclared('arg'), ...(isLocal ? listUndeclared('header') : listUndeclared('env'))]
  if (unknown !== undefined) throw createUsageError(`unknown input "${unknown[0]}"`)
  const added = Object.fromEntries(listUndeclared(isLocal ? 'env' : 'header'))
  const key = isLocal ? 'env' : 'headers'
  return Object.keys(added).length === 0 ? upstream : { ...upstream, [key]: { ...readMap(upstream, key), ...added } }
}

function setServerUrl(upstream: JsonObject, server: string | undefined): JsonObject {
  if (server === undefined) return upstream
  if (upstream.type !== 'openapi') throw createUsageError('--server only applies to openapi:')
  return { ...upstream, server }
}

/** Suggests flags that may help a failed start, by upstream type. */
function suggestFlags({ type }: JsonObject): string {
  if (type === 'openapi') return '--server <url> if its document declares no server, or --header'
  if (type !== 'stdio') return '--header'
  return '--env-var, arguments after --, or --no-sandbox'
}

/** Third-party programs run in a sandbox if one is available. */
function addSandbox(upstream: JsonObject, flags: AddFlags, { environment, cwd }: Terminal): JsonObject {
  const isWanted = upstream.type === 'stdio' && upstream.command !== 'docker' && !flags['no-sandbox']
  if (!isWanted || !getPlatform().hasSandbox) return upstream
  if (findProgram('bwrap', splitPath(environment['PATH']), cwd) === undefined) return upstream
  return { ...upstream, sandbox: { type: 'bwrap', network: true } }
}

/** Starts the server once from a draft configuration. Returns undefined with `--no-start` or `--dry-run`. */
export async function tryAddition(
  { file, name, trial }: PlannedAddition,
  flags: AddFlags & { readonly 'dry-run': boolean },
  terminal: Terminal,
): Promise<TrialResult | undefined> {
  if (flags['dry-run']) return undefined
  const { before, after } = await applyChange(file, { name, upstream: trial })
  return withDraftConfig(before, after, terminal, async source =>
    flags['no-start'] ? undefined : runTrial(source, { name, help: suggestFlags(trial) }, terminal),
  )
}

/** Applies the addition to the current configuration, which must be valid afterwards. */
export async function writeAddition(
  { file, name, upstream, secrets }: PlannedAddition,
  terminal: Terminal,
): Promise<void> {
  const directory = join(dirname((await readSettingsFile(file)).path), SECRETS_DIRECTORY)
  try {
    await writeTokens(secrets, directory)
    await writeChange(file, { name, upstream }, now =>
      withDraftConfig(now.before, now.after, terminal, () => Promise.resolve()),
    )
  } catch (error) {
    for (const secret of secrets) await unlink(join(directory, secret.file)).catch(() => undefined)
    rejectChange(file)(error)
  }
}

/** Unparsed flag values. */
interface ValueFlags {
  readonly 'env-var'?: readonly string[] | undefined
  readonly header?: readonly string[] | undefined
  readonly arg?: readonly string[] | undefined
}

/** Parses input values from flags. @throws GatewayError GW_USAGE */
function parseAnswers(flags: ValueFlags): Map<string, string> {
  const answers = new Map<string, string>()
  for (const text of flags['env-var'] ?? [])
    setAnswer('env', /^([A-Za-z_]\w*)=(.*)$/s.exec(text), text, '--env-var KEY=value')
  for (const text of flags.arg ?? []) setAnswer('arg', /^([^=]+)=(.*)$/s.exec(text), text, '--arg name=value')
  for (const text of flags.header ?? [])
    setAnswer('header', /^([^:\s]+):\s*(.*)$/s.exec(text), text, "--header 'Name: value'")
  return answers
  function setAnswer(kind: Input['kind'], parts: RegExpExecArray | null, text: string, form: string): void {
    if (parts === null) throw createUsageError(`"${text.slice(0, 60)}" must have the form ${form}`)
    answers.set(getInputKey({ kind, name: parts[1] ?? '' }), parts[2] ?? '')
  }
}

/** Prompts for missing required inputs. @throws GatewayError GW_USAGE without a terminal */
async function promptForMissing(
  inputs: readonly Input[],
  answers: Map<string, string>,
  terminal: Terminal,
  host: Host,
): Promise<void> {
  const open = findMissingInputs(inputs, answers)
  if (open.length === 0) return
  if (!canAsk(terminal, host))
    throw createUsageError(
      `missing values: ${open.map(input => formatFlag(input).replace('--env ', '--env-var ')).join(', ')}`,
    )
  await withQuestions(host, async ask => {
    for (const input of open) answers.set(getInputKey(input), await promptForInput(input, ask))
  })
}

async function promptForInput(input: Input, ask: AskQuestion): Promise<string> {
  const { name, description, choices } = input
  const about = [description, choices.length > 0 ? `one of ${choices.join(', ')}` : '']
    .filter(part => part !== '')
    .join('; ')
  for (;;) {
    const answer = (await ask(`${name}${about === '' ? '' : ` (${about})`}: `)).trim()
    if (answer !== '' && choices.length === 0) return answer
    if (choices.includes(answer)) return escapeReferences(answer)
  }
}

/** Lists the answers that the registry declares as secrets, without references. */
function listDeclaredSecrets(inputs: readonly Input[], answers: Answers): string[] {
  const values = inputs.flatMap(input => (input.isSecret ? (answers.get(getInputKey(input)) ?? []) : []))
  return values.filter(value => value !== '' && !value.includes('${'))
}

/** Parsed `gateway add` argument. */
type AddTarget = { readonly by: 'registry'; readonly name: string; readonly version: string | undefined } | DirectTarget

type DirectTarget = { readonly by: 'option'; readonly url?: URL } & Omit<LaunchChoice, 'notes'>

const NO_INPUTS: LaunchOption['inputs'] = []

/**
 * Parses `npm:`, `pypi:`, `docker:`, `openapi:`, a URL, a registry name, or a command. After a name or package,
 * `command` holds extra arguments.
 * @throws GatewayError GW_USAGE
 */
function parseTarget(text: string | undefined, command: readonly string[]): AddTarget {
  if (text === undefined && command.length > 0) return createCommandTarget(command)
  if (text === undefined)
    throw createUsageError('missing server: give a registry name, npm:package@version, a URL, or -- and a command')
  const [, kind = '', reference = ''] = /^(npm|pypi|docker|openapi):(.+)$/s.exec(text) ?? []
  if (kind === 'openapi') return createOpenApiTarget(reference)
  if (kind !== '') return parsePackageTarget(kind, reference)
  return /^https?:\/\//i.test(text) ? parseUrlTarget(text) : parseRegistryName(text)
}

function parseRegistryName(text: string): AddTarget {
  const [, name = '', version] = /^([^@]+)(?:@(.+))?$/s.exec(text) ?? []
  if (REGISTRY_NAME.test(name)) return { by: 'registry', name, version }
  const forms = 'io.github.owner/server, npm:…, pypi:…, docker:…, openapi:…, https://…'
  const excerpt = text.slice(0, 100)
  if (/^@[\w.-]+\/[\w.-]+(@[\w.-]+)?$/.test(text))
    throw createUsageError(`"${excerpt}" – did you mean "npm:${excerpt}"?`)
  const search = /^[\w.-]+$/.test(text) ? `; run gateway search ${excerpt} to find a name` : ''
  throw createUsageError(`"${excerpt}" is not one of: ${forms}${search}`)
}

function createCommandTarget(command: readonly string[]): AddTarget {
  const [program = '', ...args] = command
  return createDirectTarget('command', command.join(' '), createLocalEntry(program, args), deriveCommandName(command))
}

function parsePackageTarget(kind: string, text: string): AddTarget {
  const isImage = kind === 'docker'
  const [, identifier = text, version] = isImage ? [] : (/^(.+?)(?:@|==)([^@=]+)$/s.exec(text) ?? [])
  const option = parsePackage({
    registryType: isImage ? 'oci' : kind,
    identifier,
    ...(version === undefined ? {} : { version }),
  })
  if ('why' in option) {
    const hint = version === undefined && !isImage ? `; write ${kind}:${identifier}@<version> to pin the version` : ''
    throw createUsageError(`${option.why}${hint}`)
  }
  return { by: 'option', option, suggested: identifier }
}

function parseUrlTarget(text: string): DirectTarget {
  const url = URL.parse(text)
  if (url === null || url.username !== '')
    throw createUsageError(
      `"${text.slice(0, 100)}" is not a URL, or contains credentials; use --header for credentials`,
    )
  return { ...createDirectTarget('remote', url.origin, createRemoteEntry(url.href), deriveHostName(url)), url }
}

function createOpenApiTarget(text: string): AddTarget {
  const url = URL.parse(text)
  const suggested =
    url === null ? (text.split(/[/\\]/).at(-1) ?? text).replace(/\.(json|ya?ml)$/, '') : deriveHostName(url)
  return createDirectTarget('openapi', text, { type: 'openapi', document: text }, suggested)
}

function createDirectTarget(kind: string, title: string, upstream: JsonObject, suggested: string): DirectTarget {
  return { by: 'option', option: { kind, title, inputs: NO_INPUTS, upstream: () => upstream }, suggested }
}

function deriveHostName({ hostname }: URL): string {
  const parts = hostname.split('.').filter(part => !/^(www|mcp|api|com|org|net|io|dev|ai|\d+|)$/.test(part))
  return parts[0] ?? hostname
}

export function createUsageError(message: string): Error {
  return gatewayError('GW_USAGE', { what: message })
}
