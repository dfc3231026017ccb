import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readList, readMap, readText } from '../../util/plain-data.ts'
import { toOneLine } from '../../util/plain-text.ts'
import { createLocalEntry, createRemoteEntry } from './server-entry.ts'

/** One way to run or reach a server. */
export interface LaunchOption {
  readonly kind: string
  readonly inputs: readonly Input[]
  /** Creates the upstream entry; `more` are extra arguments from the user. */
  readonly upstream: (answers: Answers, more?: readonly string[]) => JsonObject
  /** Command or URL, on one line. */
  readonly title: string
}

type PackageMatch = LaunchOption | { readonly why: string }

interface Runner {
  readonly command: string
  /** Valid package names: no leading dash, no path. */
  readonly identifier: RegExp
  /** Arguments before the package's own. */
  readonly line: (identifier: string, version: string) => readonly string[]
  /** Runner options that a registry entry may set. */
  readonly options: RegExp
  readonly separator?: string
}

const EXACT_VERSION = /^(?!latest$)v?\d[0-9A-Za-z.+_-]{0,99}$/

const RUNNERS: Readonly<Record<string, Runner>> = {
  npm: {
    command: 'npx',
    identifier: /^(@[a-z0-9][a-z0-9._-]{0,99}\/)?[a-z0-9][a-z0-9._-]{0,199}$/,
    line: (identifier, version) => ['-y', `${identifier}@${version}`],
    options: /^(-y|--yes)$/,
  },
  pypi: {
    command: 'uvx',
    identifier: /^[A-Za-z0-9]([A-Za-z0-9._-]{0,199}[A-Za-z0-9])?$/,
    line: (identifier, version) => [`${identifier}==${version}`],
    options: /^(?!)/,
  },
  nuget: {
    command: 'dnx',
    identifier: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    line: (identifier, version) => [`${identifier}@${version}`, '--yes'],
    options: /^(--yes|-y)$/,
    separator: '--',
  },
}

/** Lists launch options, safest first: remotes, packages, then SSE remotes. */
export function listLaunchOptions(
  packages: readonly JsonObject[],
  remotes: readonly JsonObject[],
): readonly PackageMatch[] {
  const reached = remotes.map(remote => parseRemote(remote))
  const isDeprecatedTransport = (option: PackageMatch): boolean => 'kind' in option && option.kind === 'sse'
  return [
    ...reached.filter(option => !isDeprecatedTransport(option)),
    ...packages.map(parsePackage),
    ...reached.filter(isDeprecatedTransport),
  ]
}

/** Parses a `server.json` package. */
export function parsePackage(definition: JsonObject): PackageMatch {
  const type = readText(definition, 'registryType') ?? ''
  const option = parseLaunchOption(definition, type)
  return 'why' in option && type !== '' ? { why: `${quoteExcerpt(type)}: ${option.why}` } : option
}

function parseLaunchOption(definition: JsonObject, type: string): PackageMatch {
  const transport = readText(definition, 'transport', 'type') ?? 'stdio'
  if (type === 'mcpb') return { why: 'MCPB bundles are not supported' }
  if (transport !== 'stdio')
    return {
      why: `it must be started separately (${quoteExcerpt(transport)}) and added by its URL`,
    }
  const environment = parseEnvironment(definition)
  if ('why' in environment) return environment
  const identifier = readText(definition, 'identifier') ?? ''
  const own = parseArguments(definition, 'packageArguments')
  const parts = { definition, identifier, environment: environment.all, own }
  if (type === 'oci') return createDockerOption(parts)
  const runner = Object.hasOwn(RUNNERS, type) ? RUNNERS[type] : undefined
  return runner === undefined ? { why: 'unsupported package type' } : createRunnerOption(type, runner, parts)
}

interface PackageDetails {
  readonly definition: JsonObject
  readonly identifier: string
  readonly environment: ReadonlyMap<string, InputValue>
  readonly own: readonly PackageArgument[]
}

function createRunnerOption(
  type: string,
  runner: Runner,
  { definition, identifier, environment, own }: PackageDetails,
): PackageMatch {
  const version = readText(definition, 'version') ?? ''
  if (!runner.identifier.test(identifier) || identifier.includes('..'))
    return { why: `"${quoteExcerpt(identifier)}" is not a valid package name` }
  if (!EXACT_VERSION.test(version)) return { why: `"${quoteExcerpt(version)}" is not an exact version` }
  const options = parseArguments(definition, 'runtimeArguments')
  const bad = options.find(({ name, fixed }) => !runner.options.test(name ?? fixed ?? ''))
  if (bad !== undefined) return refuseOption(runner.command, bad)
  const line = runner.line(identifier, version)
  return {
    kind: type,
    title: [runner.command, ...line].join(' '),
    inputs: collectInputs(environment, own),
    upstream: (answers, more = []) => {
      const args = [...own.flatMap(argument => argument.format(answers)), ...more]
      const separator = args.length > 0 && runner.separator !== undefined ? [runner.separator] : []
      return createLocalEntry(
        runner.command,
        [...line, ...separator, ...args],
        Object.fromEntries(fillValues(environment, answers)),
      )
    },
  }
}

function refuseOption(command: string, { name, fixed }: PackageArgument): PackageMatch {
  const option = quoteExcerpt(name ?? fixed ?? 'an argument')
  return { why: `it requires ${command} to run with ${option}, which is not allowed from a registry` }
}

const IMAGE =
  /^[a-z0-9][a-z0-9.-]*(:\d{1,5})?(\/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$/

/** Returns the image name with its version, or undefined if it is invalid or not exact. */
function formatImage(identifier: string, version: string): string | undefined {
  const hasTag = /(:[A-Za-z0-9_][A-Za-z0-9._-]*|@sha256:[0-9a-f]+)$/.test(identifier.split('/').at(-1) ?? '')
  const image = hasTag || version === '' ? identifier : `${identifier}:${version}`
  const tag = /:([^:/@]+)(@sha256:.*)?$/.exec(image)?.[1] ?? 'latest'
  const isExact = image.includes('@sha256:') || tag !== 'latest'
  return IMAGE.test(image) && isExact ? image : undefined
}

function createDockerOption({ definition, identifier, environment, own }: PackageDetails): PackageMatch {
  const image = formatImage(identifier, readText(definition, 'version') ?? '')
  if (image === undefined) return { why: `"${quoteExcerpt(identifier)}" is not an image with an exact version` }
  const options = parseArguments(definition, 'runtimeArguments')
  const bad = options.find(({ name }) => name !== '-e' && name !== '--env')
  if (bad !== undefined) return refuseOption('docker', bad)
  return {
    kind: 'oci',
    title: `docker run ${image}`,
    inputs: collectInputs(environment, [...options, ...own]),
    upstream: (answers, more = []) => {
      const chosen = options.flatMap(one => one.format(answers).slice(1))
      const settings = [...fillValues(environment, answers).map(pair => pair.join('=')), ...chosen]
      const { flags, env } = splitDockerVariables(settings)
      const args = [...own.flatMap(argument => argument.format(answers)), ...more]
      return createLocalEntry('docker', ['run', '--rm', '-i', ...flags, image, ...args], Object.fromEntries(env))
    },
  }
}

/** Variables that the docker client itself reads. */
const DOCKER_CLIENT_VARIABLE =
  /^(DOCKER_|BUILDKIT_|BUILDX_|CONTAINER_|XDG_|SSL_CERT_|SSH_|OTEL_|GODEBUG$|(HTTPS?|ALL|NO)_PROXY$)/i

/**
 * Splits `NAME=value` settings. Docker takes values from its environment, because all users can read its arguments.
 */
function splitDockerVariables(settings: readonly string[]): {
  readonly flags: readonly string[]
  readonly env: readonly EnvironmentEntry[]
} {
  const env: EnvironmentEntry[] = []
  const flags = settings.flatMap(setting => {
    const [, name = '', value = ''] = /^([A-Za-z_]\w{0,199})=(.*)$/s.exec(setting) ?? []
    if (name === '' || CODE_LOADING_VARIABLE.test(name) || DOCKER_CLIENT_VARIABLE.test(name)) return ['-e', setting]
    env.push([name, value])
    return ['-e', name]
  })
  return { flags, env }
}

type EnvironmentEntry = readonly [name: string, value: string]

function collectInputs(environment: ReadonlyMap<string, InputValue>, all: readonly PackageArgument[]): Input[] {
  return [...environment.values(), ...all].flatMap(({ inputs }) => inputs)
}

interface PackageArgument {
  readonly name: string | undefined
  readonly fixed: string | undefined
  readonly inputs: readonly Input[]
  readonly format: (answers: Answers) => readonly string[]
}

function parseArguments(definition: JsonObject, key: string): PackageArgument[] {
  return readList(definition, key)
    .filter(isObject)
    .map((one, i) => {
      const isNamed = readText(one, 'type') === 'named'
      const written = isNamed ? readText(one, 'name') : undefined
      const name = written === undefined ? undefined : escapeReferences(written)
      const { inputs, value } = parseInputValue(one, 'arg', name ?? readText(one, 'valueHint') ?? `${i + 1}`)
      const format = (answers: Answers): string[] => {
        const text = value(answers)
        if (name === undefined) return text === undefined ? [] : [text]
        if (text !== undefined) return [name, text]
        return one.isRequired === true && one.value === undefined ? [name] : []
      }
      // An option without a value is a switch.
      const isSwitch =
        isNamed &&
        one.value === undefined &&
        one.default === undefined &&
        one.valueHint === undefined &&
        one.isRequired !== true
      return {
        name,
        fixed: readText(one, 'value'),
        inputs: isSwitch ? inputs.map(input => ({ ...input, isRequired: false })) : inputs,
        format,
      }
    })
}

/** Variables that make a program load code. */
const CODE_LOADING_VARIABLE =
  /^(LD_|DYLD_|NODE_OPTIONS$|NODE_PATH$|PYTHON|PATH$|BASH_ENV$|ENV$|npm_config_|NPM_CONFIG_|UV_|PIP_|DOTNET_STARTUP|RUBYOPT|PERL5|GIT_SSH|SHELL$|HOME$)/

function parseEnvironment(
  definition: JsonObject,
): { readonly all: ReadonlyMap<string, InputValue> } | { readonly why: string } {
  const all = new Map<string, InputValue>()
  for (const one of readList(definition, 'environmentVariables').filter(isObject)) {
    const name = readText(one, 'name') ?? ''
    if (!/^[A-Za-z_]\w{0,199}$/.test(name)) return { why: `"${quoteExcerpt(name)}" is not a valid variable name` }
    if (CODE_LOADING_VARIABLE.test(name)) return { why: `it sets ${name}, which is not allowed from a registry` }
    all.set(name, parseInputValue(one, 'env', name))
  }
  return { all }
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/

const TRANSPORTS: ReadonlyMap<string, 'http' | 'sse'> = new Map([
  ['streamable-http', 'http'],
  ['http', 'http'],
  ['sse', 'sse'],
])

/** Parses a `server.json` remote; `given` is its URL if the user gave it. */
export function parseRemote(definition: JsonObject, given?: string): PackageMatch {
  const kind = readText(definition, 'type') ?? ''
  const template = given ?? readText(definition, 'url') ?? ''
  const type = TRANSPORTS.get(kind)
  if (type === undefined) return { why: `"${quoteExcerpt(kind)}" is not a supported transport` }
  if (given === undefined && !isSafeUrl(template, readMap(definition, 'variables')))
    return { why: `${kind}: "${quoteExcerpt(template)}" is not an https URL` }
  const url = parseInputValue({ value: template, variables: readMap(definition, 'variables') }, 'arg', 'url')
  const headers = parseHeaders(definition)
  if (typeof headers === 'string') return { why: `${kind}: "${quoteExcerpt(headers)}" is not a valid header name` }
  return {
    kind: type === 'http' ? 'remote' : 'sse',
    title: template,
    inputs: [url, ...headers.values()].flatMap(({ inputs }) => inputs),
    upstream: answers =>
      createRemoteEntry(given ?? url.value(answers) ?? '', type, Object.fromEntries(fillValues(headers, answers))),
  }
}

/** True for an https URL template without credentials. */
function isSafeUrl(template: string, variables: JsonObject): boolean {
  const filled = template.replace(/\{([\w.-]+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(variables, name) ? 'x' : placeholder,
  )
  const url = URL.parse(filled)
  return url?.protocol === 'https:' && url.username === '' && !/[\s{}\\]/.test(filled)
}

/** Parses a remote's headers. Returns the first invalid name, if any. */
function parseHeaders(definition: JsonObject): ReadonlyMap<string, InputValue> | string {
  const headers = new Map<string, InputValue>()
  for (const one of readList(definition, 'headers').filter(isObject)) {
    const name = readText(one, 'name') ?? ''
    if (!HEADER_NAME.test(name)) return name
    headers.set(name, parseInputValue(one, 'header', name))
  }
  return headers
}

function fillValues(all: ReadonlyMap<string, InputValue>, answers: Answers): EnvironmentEntry[] {
  return [...all].flatMap(([name, one]) => {
    const value = one.value(answers)
    return value === undefined ? [] : [[name, value] as const]
  })
}

function quoteExcerpt(text: string): string {
  return JSON.stringify(text.slice(0, 80)).slice(1, -1)
}

/** Input value target. */
type InputKind = 'env' | 'header' | 'arg'

/** Value that the user provides. */
export interface Input {
  readonly kind: InputKind
  readonly name: string
  readonly description: string
  readonly isRequired: boolean
  readonly isSecret: boolean
  readonly fallback: string | undefined
  readonly choices: readonly string[]
}

/** Values by kind and name, such as `env API_KEY`. They may contain references such as `${API_KEY}`. */
export type Answers = ReadonlyMap<string, string>

export function getInputKey({ kind, name }: Pick<Input, 'kind' | 'name'>): string {
  return `${kind} ${kind === 'header' ? name.toLowerCase() : name}`
}

/** Escapes references in registry text, which could otherwise run programs and read files. */
export function escapeReferences(text: string): string {
  return text.replaceAll('${', () => '$${')
}

/** Registry value, fixed or prompted for. */
interface InputValue {
  readonly inputs: readonly Input[]
  /** Fills in the answers; undefined if the value is omitted. */
  readonly value: (answers: Answers) => string | undefined
}

/** Parses a `server.json` input. Variables in a fixed value become inputs. */
function parseInputValue(definition: JsonObject, kind: InputKind, name: string): InputValue {
  const value = readText(definition, 'value')
  const variables = Object.entries(readMap(definition, 'variables')).filter(([, about]) => isObject(about))
  if (value === undefined) {
    const input = parseInput(definition, kind, name)
    return { inputs: [input], value: answers => getAnswer(input, answers) }
  }
  const own = variables.map(([variable, about]) => parseInput(about as JsonObject, 'arg', variable))
  const inputsByName = new Map(own.map(input => [input.name, input]))
  return {
    inputs: own,
    value: answers => {
      const parts = value.split(/(\{[\w.-]+\})/).map((part, i) => {
        const input = i % 2 === 1 ? inputsByName.get(part.slice(1, -1)) : undefined
        return input === undefined ? escapeReferences(part) : (getAnswer(input, answers) ?? '')
      })
      // Two parts must not form a reference either.
      return parts.reduce((text, part) => text + (text.endsWith('$') && part.startsWith('{') ? `$${part}` : part))
    },
  }
}

/** Returns the given value or the registry default. */
function getAnswer(input: Input, answers: Answers): string | undefined {
  const { fallback } = input
  return answers.get(getInputKey(input)) ?? (fallback === undefined ? undefined : escapeReferences(fallback))
}

function parseInput(definition: JsonObject, kind: InputKind, name: string): Input {
  const choices = Array.isArray(definition.choices) ? definition.choices.filter(one => typeof one === 'string') : []
  return {
    ...{ kind, name, choices },
    description: toOneLine(readText(definition, 'description') ?? '').slice(0, 200),
    isRequired: definition.isRequired === true,
    isSecret: definition.isSecret === true,
    fallback: readText(definition, 'default'),
  }
}

/** Lists required inputs without a value. */
export function findMissingInputs(inputs: readonly Input[], answers: Answers): Input[] {
  return inputs.filter(input => input.isRequired && (getAnswer(input, answers) ?? '') === '')
}

export function formatFlag({ kind, name }: Input): string {
  return kind === 'header' ? `--header '${name}: …'` : `--${kind} ${name}=…`
}
