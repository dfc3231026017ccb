import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { isObject, reasonOf, type JsonObject } from '../../src/plugin.ts'
import { agentError } from './errors.ts'
import { settingsOf } from './settings.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'

const MAX_BYTES = 8 * 1024 * 1024

/** Agents of the registry that take part, and what holds for them. */
interface RegistryOptions {
  /** Relative to `directory`. */
  readonly file: string
  readonly use: readonly string[]
  readonly directory: string
  readonly defaults: AgentsConfig['defaults']
  /** `agents.commands`; what a registry file names never runs without it. */
  readonly commands: readonly string[] | undefined
  /** Such as `linux-x86_64`. */
  readonly platform: string
}

/** Command of an agent, as a distribution has it. */
interface Run {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/**
 * The agents of a file in the format of the ACP registry, as if they were written in `list`. Nothing is downloaded: `npx`
 * and `uvx` run as those programs, and a binary must be installed. Whether a program may run is decided when it is found.
 * @throws GatewayError GW_AGENT_REGISTRY
 */
export function registryAgents(options: RegistryOptions): AgentSettings[] {
  const file = path.resolve(options.directory, options.file)
  const refuse = (why: string): never => {
    throw agentError('GW_AGENT_REGISTRY', { file, why })
  }
  if (options.commands === undefined)
    refuse('agents.commands is not set, and decides which programs of a registry may run')
  const agents = readAgents(file, refuse)
  return options.use.map(id => {
    const entry = agents.find(each => each.id === id)
    if (entry === undefined) return refuse(`there is no agent "${id}"${among(agents)}`)
    const run = runOf(entry, options.platform)
    if (run === undefined) return refuse(`agent "${id}" has no distribution that runs on ${options.platform}`)
    const own = { ...run, ...wordsOf(entry), capabilities: [], priority: 0 }
    return settingsOf(id, own, options.defaults, `${file}: agent "${id}"`)
  })
}

/** The name of this machine as registries write it. */
export function platformName(platform: string, arch: string): string {
  const systems: Readonly<Record<string, string>> = { win32: 'windows' }
  const processors: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }
  return `${systems[platform] ?? platform}-${processors[arch] ?? arch}`
}

function readAgents(file: string, refuse: (why: string) => never): JsonObject[] {
  const text = readText(file, refuse)
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch (error) {
    return refuse(`it is no JSON: ${reasonOf(error)}`)
  }
  if (!isObject(read) || !Array.isArray(read.agents)) return refuse('it has no list "agents"')
  return read.agents.filter(isObject)
}

function readText(file: string, refuse: (why: string) => never): string {
  try {
    const facts = statSync(file)
    if (!facts.isFile()) return refuse('it is no file')
    if (facts.size > MAX_BYTES) return refuse(`it is larger than ${MAX_BYTES} bytes`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      typeof error.code === 'string' &&
      error.code.startsWith('E')
    )
      return refuse(reasonOf(error))
    throw error
  }
}

function among(agents: readonly JsonObject[]): string {
  const ids = agents.slice(0, 12).map(({ id }) => String(id))
  return ids.length === 0 ? '' : `; it has ${ids.join(', ')}${agents.length > ids.length ? ' …' : ''}`
}

function wordsOf({ name, description }: JsonObject): { title?: string; description?: string } {
  return {
    ...(typeof name === 'string' ? { title: name.slice(0, 128) } : {}),
    ...(typeof description === 'string' ? { description: description.slice(0, 2048) } : {}),
  }
}

/** An installed binary is preferred, as it starts fastest; then the runners of packages. */
function runOf({ distribution }: JsonObject, platform: string): Run | undefined {
  if (!isObject(distribution)) return undefined
  const { binary, npx, uvx } = distribution
  const own = isObject(binary) ? binary[platform] : undefined
  if (isObject(own) && typeof own.cmd === 'string') return binaryRun(own.cmd, own)
  if (isObject(npx) && typeof npx.package === 'string') return packageRun('npx', ['--yes'], npx.package, npx)
  if (isObject(uvx) && typeof uvx.package === 'string') return packageRun('uvx', [], uvx.package, uvx)
  return undefined
}

/** `./goose` in an archive is `goose` where that is installed. */
function binaryRun(cmd: string, { args, env }: JsonObject): Run {
  const command = path.isAbsolute(cmd) ? cmd : path.basename(cmd)
  return { command, args: stringsOf(args), env: recordOf(env) }
}

function packageRun(command: string, flags: readonly string[], name: string, { args, env }: JsonObject): Run {
  return { command, args: [...flags, name, ...stringsOf(args)], env: recordOf(env) }
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string').slice(0, 256) : []
}

/** Variables that would load other code than the program that is checked, or move its HOME. */
const NOT_FROM_A_FILE =
  /^(LD_|DYLD_|NODE_OPTIONS$|NODE_PATH$|PYTHON|RUBY|PERL5|BASH_ENV$|ENV$|JAVA_TOOL_OPTIONS$|PATH$|HOME$)/i

function recordOf(value: unknown): Record<string, string> {
  const entries = isObject(value) ? Object.entries(value) : []
  return Object.fromEntries(
    entries.filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && !NOT_FROM_A_FILE.test(entry[0]),
    ),
  )
}
