import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type {
  Answer,
  Call,
  JsonObject,
  PluginApi,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamState,
} from '../../src/plugin.ts'
import {
  createUpstreamAnswer,
  gatewayError,
  getErrorMessage,
  isObject,
  readOwnPackage,
  readText,
  refuse,
  RPC,
  SKILLS,
} from '../../src/plugin.ts'
import { findLimitProblem } from './manifests.ts'

export type SkillsSpec = Extract<UpstreamConfig, { readonly type: 'skills' }>
type LocalDeps = Pick<PluginApi, 'parseYaml' | 'directory' | 'state' | 'programs'>

interface LocalFile {
  readonly uri: string
  readonly path: string
  readonly size: number
}

interface LocalSkill {
  readonly uri: string
  readonly frontmatter: JsonObject
  readonly files: readonly LocalFile[]
}

/** Package directory, also in the built package. */
const BUILTIN = fileURLToPath(new URL('../../skills/', import.meta.url))
const NAME = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/
const FRONTMATTER = /^\uFEFF?---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s
const RETRY_MS = 60_000
const GIT_TIMEOUT_MS = 60_000
const CACHING = { ttlMs: 0, cacheScope: 'public' }
const run = promisify(execFile)

/** Skills in files as a modern MCP server in this process. Files are read again for each request. */
export class LocalSkillsUpstream implements Upstream {
  readonly name: string
  readonly spec: SkillsSpec
  readonly pid = undefined
  state: UpstreamState = 'idle'
  problem: string | undefined
  readonly server = {
    era: 'modern',
    version: '2026-07-28',
    info: { ...readOwnPackage() },
    capabilities: { resources: {}, extensions: { [SKILLS]: { directoryRead: true } } },
    instructions: undefined,
  } as const
  readonly #context: UpstreamContext
  readonly #deps: LocalDeps
  readonly #reported = new Set<string>()
  #root = ''
  #starting: Promise<void> | undefined

  constructor(spec: SkillsSpec, context: UpstreamContext, deps: LocalDeps) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#deps = deps
  }

  get degraded(): string | undefined {
    return [...this.#reported].at(-1)
  }

  start(): Promise<void> {
    this.#starting ??= this.#startOnce().finally(() => (this.#starting = undefined))
    return this.#starting
  }

  stop(): Promise<void> {
    this.#setState('stopped')
    return Promise.resolve()
  }

  dispatch = async ({ method, params }: Call): Promise<Answer> => {
    if (this.state === 'idle') await this.start()
    if (this.state !== 'ready')
      throw gatewayError('GW_UPSTREAM_DOWN', { upstream: this.name, why: this.problem ?? this.state })
    const handle = HANDLERS.get(method)
    if (handle === undefined) return refuse(RPC.methodNotFound, `Method not found: ${method}`)
    const uri = readText(params, 'uri') ?? ''
    const result = await handle(await this.#readSkills(), uri)
    return result === undefined
      ? refuse(RPC.invalidParams, `Resource not found: ${uri}`)
      : createUpstreamAnswer({ ...result, ...CACHING })
  }

  async #startOnce(): Promise<void> {
    this.#setState('starting')
    try {
      this.#root = await this.#prepareRoot()
      const stats = await stat(this.#root).catch(() => undefined)
      if (stats?.isDirectory() !== true) throw new Error(`directory "${this.spec.skills.dir ?? '.'}" not found`)
      this.#setState('ready')
    } catch (error) {
      this.#setState('failed', this.#context.hide(getErrorMessage(error)))
      this.#context.clock.after(RETRY_MS, () => this.state === 'failed' && void this.start())
    }
  }

  #setState(state: UpstreamState, problem?: string): void {
    this.state = state
    this.problem = problem
    this.#context.reportState(state, problem)
  }

  async #prepareRoot(): Promise<string> {
    const { dir = '.', git, ref = 'HEAD', builtin } = this.spec.skills
    if (builtin === true) return BUILTIN
    if (git === undefined) return resolve(this.#deps.directory, dir)
    if (this.#deps.state === undefined) throw new Error('"git" needs a state directory: set "state"')
    const clone = join(this.#deps.state, createHash('sha256').update(`${git} ${ref}`).digest('hex').slice(0, 16))
    await this.#updateClone(clone, git, ref)
    return join(clone, dir)
  }

  async #updateClone(clone: string, url: string, ref: string): Promise<void> {
    const inherited = ['PATH', 'HOME', 'SSH_AUTH_SOCK', 'HTTPS_PROXY', 'https_proxy', 'SYSTEMROOT', 'USERPROFILE']
    const env = this.#deps.programs.createEnvironment(inherited, { GIT_TERMINAL_PROMPT: '0' })
    const git = (...args: string[]) => run('git', args, { cwd: clone, env, timeout: GIT_TIMEOUT_MS })
    await mkdir(clone, { recursive: true, mode: 0o700 })
    try {
      await git('init', '--quiet')
      await git('fetch', '--quiet', '--depth', '1', '--', url, ref)
      await git('checkout', '--quiet', '--force', '--detach', 'FETCH_HEAD')
    } catch (error) {
      const why = this.#context.hide(describeGitFailure(error))
      if (!existsSync(join(clone, '.git', 'index'))) throw new Error(`cannot clone ${url}: ${why}`, { cause: error })
      this.#context.log.warn(`cannot update the clone of ${url}, using the earlier one: ${why}`)
    }
  }

  async #readSkills(): Promise<LocalSkill[]> {
    const skills: LocalSkill[] = []
    const walk = async (directory: string): Promise<void> => {
      const entries = await readdir(directory, { withFileTypes: true })
      if (directory !== this.#root && entries.some(entry => entry.name === 'SKILL.md' && entry.isFile())) {
        const skill = await this.#readSkill(directory)
        if (skill !== undefined) skills.push(skill)
      } else
        for (const entry of entries.sort(byName))
          if (isServed(entry) && entry.isDirectory()) await walk(join(directory, entry.name))
    }
    await walk(this.#root)
    return skills
  }

  /** Reads one skill; an invalid one is reported and left out. */
  async #readSkill(directory: string): Promise<LocalSkill | undefined> {
    const file = join(directory, 'SKILL.md')
    try {
      const files = await listFiles(directory, this.#root)
      const limit = findLimitProblem(
        files.length,
        files.reduce((sum, { size }) => sum + size, 0),
      )
      if (limit !== undefined) throw new Error(limit)
      const [, yaml = ''] = FRONTMATTER.exec(await readFile(file, 'utf8')) ?? []
      const frontmatter = checkFrontmatter(await this.#deps.parseYaml(yaml), basename(directory))
      return { uri: createUri(relative(this.#root, file)), frontmatter, files }
    } catch (error) {
      const message = `skipped ${file}: ${getErrorMessage(error)}`
      if (!this.#reported.has(message)) this.#context.log.warn(message)
      this.#reported.add(message)
      return undefined
    }
  }
}

/** @throws Error if the name or the description is missing or invalid */
function checkFrontmatter(frontmatter: unknown, directory: string): JsonObject {
  if (!isObject(frontmatter)) throw new Error('it has no frontmatter')
  if (frontmatter.name !== directory || !NAME.test(directory))
    throw new Error(`"name" must be the name of its directory, "${directory}", in lower case with hyphens`)
  if (typeof frontmatter.description !== 'string') throw new Error('"description" is missing')
  return frontmatter
}

type Handler = (skills: readonly LocalSkill[], uri: string) => JsonObject | undefined | Promise<JsonObject | undefined>

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['skills/list', async skills => ({ skills: await Promise.all(skills.map(describeSkill)) })],
  [
    'skills/get',
    async (skills, uri) => {
      const skill = skills.find(one => one.uri === uri)
      return skill && { skill: await describeSkill(skill) }
    },
  ],
  ['resources/list', skills => ({ resources: skills.map(describeResource) })],
  ['resources/templates/list', () => ({ resourceTemplates: [] })],
  ['resources/read', readResource],
  ['resources/directory/read', readSkillDirectory],
])

async function describeSkill({ uri, frontmatter, files }: LocalSkill): Promise<JsonObject> {
  const resources = files.map(async file => {
    const bytes = await readFile(file.path)
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    return { uri: file.uri, digest, size: bytes.length }
  })
  return { uri, frontmatter, resources: await Promise.all(resources) }
}

function describeResource({ uri, frontmatter }: LocalSkill): JsonObject {
  return { uri, name: frontmatter.name, description: frontmatter.description, mimeType: 'text/markdown' }
}

async function readResource(skills: readonly LocalSkill[], uri: string): Promise<JsonObject | undefined> {
  const file = skills.flatMap(({ files }) => files).find(one => one.uri === uri)
  if (file === undefined) return undefined
  const bytes = await readFile(file.path)
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text).equals(bytes)
  return { contents: [{ uri, ...(isText ? { text } : { blob: bytes.toString('base64') }) }] }
}

function readSkillDirectory(skills: readonly LocalSkill[], uri: string): JsonObject | undefined {
  const prefix = uri.endsWith('/') ? uri : `${uri}/`
  const resources = new Map<string, JsonObject>()
  for (const file of skills.flatMap(({ files }) => files).filter(one => one.uri.startsWith(prefix))) {
    const [name = '', inner] = file.uri.slice(prefix.length).split('/')
    const kind = inner === undefined ? { size: file.size } : { mimeType: 'inode/directory' }
    resources.set(name, { uri: prefix + name, name: decodeURIComponent(name), ...kind })
  }
  return resources.size === 0 ? undefined : { resources: [...resources.values()] }
}

/** Links are left out, as they may leave the directory. */
async function listFiles(directory: string, root: string): Promise<LocalFile[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const files = entries
    .sort(byName)
    .filter(isServed)
    .map(async entry => {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) return listFiles(path, root)
      return entry.isFile() ? [{ uri: createUri(relative(root, path)), path, size: (await stat(path)).size }] : []
    })
  return (await Promise.all(files)).flat()
}

function createUri(path: string): string {
  return `skill://${path.split(/[\\/]/).map(encodeURIComponent).join('/')}`
}

function isServed({ name }: { readonly name: string }): boolean {
  return !name.startsWith('.')
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}

function describeGitFailure(error: unknown): string {
  if (isObject(error) && error.code === 'ENOENT') return 'the program "git" was not found'
  const lines = (readText(error, 'stderr') ?? '').trim().split('\n')
  return lines.at(-1) || getErrorMessage(error)
}
