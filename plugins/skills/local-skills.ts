import { createHash } from 'node:crypto'
import { constants, existsSync, type Stats } from 'node:fs'
import { mkdir, open, readdir, realpath, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { JsonObject, PluginApi, ServerDescription, Upstream } from '../../src/plugin.ts'
import type { UpstreamConfig, UpstreamContext, UpstreamState } from '../../src/plugin.ts'
import {
  canonicalizeUri,
  createUpstreamAnswer,
  gatewayError,
  getErrorMessage,
  readOwnPackage,
} from '../../src/plugin.ts'
import { isObject, readText, refuse, RPC, SKILLS } from '../../src/plugin.ts'
import { digest, findLimitProblem } from './manifests.ts'

type SkillsSpec = Extract<UpstreamConfig, { readonly type: 'skills' }>
type LocalDeps = Pick<PluginApi, 'parseYaml' | 'directory' | 'state' | 'programs'>

interface LocalFile extends ReturnType<typeof digest> {
  readonly uri: string
  readonly path: string
  /** Differs once the file has changed. */
  readonly stamp: string
}

interface LocalSkill {
  readonly uri: string
  readonly frontmatter: JsonObject
  readonly files: readonly LocalFile[]
}

const NAME = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/
const FRONTMATTER = /^\uFEFF?---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s
/** Names that begin with a dot, or whose URIs have no canonical form. */
const HIDDEN = /^\.|%[\da-f]{2}|[\\\p{Cc}]/iu
/** Windows lacks the last two, which are 0 then. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const FRESH_MS = 1000
const RETRY_MS = 60_000
const GIT_TIMEOUT_MS = 60_000
const MAX_OUTPUT = 4096
const INHERITED = ['PATH', 'HOME', 'SSH_AUTH_SOCK', 'HTTPS_PROXY', 'https_proxy', 'SYSTEMROOT', 'USERPROFILE']

const SERVER: ServerDescription = {
  era: 'modern',
  version: '2026-07-28',
  info: readOwnPackage(),
  // Tools as well: clients without the extension get them from `fit`.
  capabilities: { tools: {}, resources: {}, extensions: { [SKILLS]: { directoryRead: true } } },
  instructions: undefined,
}

/** Skills in files as a modern MCP server in this process. */
export class LocalSkillsUpstream implements Upstream {
  readonly name: string
  readonly spec: SkillsSpec
  readonly pid = undefined
  state: UpstreamState = 'idle'
  problem: string | undefined
  server: ServerDescription | undefined
  readonly #context: UpstreamContext
  readonly #deps: LocalDeps
  /** Problems that the latest scan found. */
  #skipped: readonly string[] = []
  #files: ReadonlyMap<string, LocalFile> = new Map()
  #skills: Promise<readonly LocalSkill[]> | undefined
  #root = ''
  #starting: Promise<void> | undefined
  #program: Awaited<ReturnType<PluginApi['programs']['launch']>> | undefined

  constructor(spec: SkillsSpec, context: UpstreamContext, deps: LocalDeps) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#deps = deps
  }

  get degraded(): string | undefined {
    return this.#skipped[0]
  }

  start(): Promise<void> {
    this.#starting ??= this.#startOnce().finally(() => (this.#starting = undefined))
    return this.#starting
  }

  async stop(): Promise<void> {
    this.#setState('stopped')
    await this.#program?.stop()
    await this.#starting
  }

  dispatch: Upstream['dispatch'] = async ({ method, params }) => {
    if (this.state === 'idle' || this.state === 'starting') await this.start()
    const { state, problem: why = state } = this
    if (state !== 'ready') throw gatewayError('GW_UPSTREAM_DOWN', { upstream: this.name, why })
    const handle = HANDLERS.get(method)
    if (handle === undefined) return refuse(RPC.methodNotFound, `Method not found: ${method}`)
    const uri = readText(params, 'uri') ?? ''
    const result = await handle(await this.#getSkills(method.startsWith('skills/')), uri)
    if (result === undefined) return refuse(RPC.invalidParams, `Resource not found: ${uri}`)
    return createUpstreamAnswer({ ...result, ttlMs: 0, cacheScope: 'public' })
  }

  async #startOnce(): Promise<void> {
    if (this.state === 'ready') return
    this.#setState('starting')
    try {
      this.#root = await this.#prepareRoot()
      const stats = await stat(this.#root).catch(() => undefined)
      if (stats?.isDirectory() !== true) throw new Error(`directory "${this.spec.skills.dir ?? '.'}" not found`)
      // It may have been stopped meanwhile.
      if (this.state !== 'starting') return
      this.server = SERVER
      this.#setState('ready')
    } catch (error) {
      if (this.state !== 'starting') return
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
    // Also found in the built package.
    if (builtin === true) return join(dirname(createRequire(import.meta.url).resolve('tapgate/package.json')), 'skills')
    if (git === undefined) return resolve(this.#deps.directory, dir)
    if (this.#deps.state === undefined) throw new Error('"git" needs a state directory: set "state"')
    const hash = createHash('sha256').update(`${this.name} ${git} ${ref}`).digest('hex')
    const clone = resolve(this.#deps.state, hash.slice(0, 16))
    const root = resolve(clone, dir)
    if (!`${root}${sep}`.startsWith(`${clone}${sep}`)) throw new Error(`"dir" must be inside the repository: ${dir}`)
    await this.#updateClone(clone, git, ref)
    return root
  }

  async #updateClone(clone: string, url: string, ref: string): Promise<void> {
    await mkdir(clone, { recursive: true, mode: 0o700 })
    try {
      await this.#runGit(clone, 'init', '--quiet')
      await this.#runGit(clone, 'fetch', '--quiet', '--depth', '1', '--', url, ref)
      await this.#runGit(clone, 'checkout', '--quiet', '--force', '--detach', 'FETCH_HEAD')
    } catch (error) {
      const why = `cannot clone ${url}: ${getErrorMessage(error)}`
      if (this.state !== 'starting' || !existsSync(join(clone, '.git', 'index'))) throw new Error(why, { cause: error })
      this.#context.log.warn(`using the earlier clone: ${this.#context.hide(why)}`)
    }
  }

  /** @throws Error with git's message */
  async #runGit(cwd: string, ...args: string[]): Promise<void> {
    const { programs } = this.#deps
    const end = Promise.withResolvers<string | undefined>()
    let output = ''
    const program = await programs.launch({
      ...{ name: 'git', command: 'git', cwd, maxLine: 0 },
      // A link in the repository could lead out of it.
      args: ['-c', 'core.symlinks=false', ...args],
      env: programs.createEnvironment(INHERITED, { GIT_TERMINAL_PROMPT: '0' }),
      onLine: () => undefined,
      onOutput: chunk => void (output = (output + chunk.toString()).slice(-MAX_OUTPUT)),
      onEnd: (reason, exit) => end.resolve(exit?.code === 0 ? undefined : reason),
    })
    this.#program = program
    // It may have been stopped meanwhile.
    if (this.state !== 'starting') void program.stop()
    const cancel = this.#context.clock.after(GIT_TIMEOUT_MS, () => void program.stop())
    const failure = await end.promise
    cancel()
    if (failure !== undefined) throw new Error(output.split('\n').find(line => line.startsWith('fatal:')) ?? failure)
  }

  /** Scans the files again for each manifest, and for other requests once a second. */
  #getSkills(isManifest: boolean): Promise<readonly LocalSkill[]> {
    if (!isManifest && this.#skills !== undefined) return this.#skills
    const forget = (): void => void this.#context.clock.after(FRESH_MS, () => (this.#skills = undefined))
    return (this.#skills = this.#scan().finally(forget))
  }

  /** Reads one file after another, as open files are limited. @throws GatewayError without a directory */
  async #scan(): Promise<LocalSkill[]> {
    const skipped: string[] = []
    // The directory itself may be a link.
    const root = await realpath(this.#root).catch(() => this.#root)
    const paths = await listFiles(root, '', skipped).catch((error: unknown) => {
      this.#skipped = [getErrorMessage(error)]
      throw gatewayError('GW_UPSTREAM_DOWN', { upstream: this.name, why: getErrorMessage(error) })
    })
    paths.sort()
    const directories = paths.filter(path => path.endsWith('/SKILL.md')).map(path => `${dirname(path)}/`)
    const outer = directories.filter(own => !directories.some(other => own !== other && own.startsWith(other)))
    if (outer.length === 0) skipped.push(`no skills: no directory in ${root} has a SKILL.md`)
    const skills: LocalSkill[] = []
    for (const own of outer) {
      const files = paths.filter(path => path.startsWith(own))
      const skill = await this.#readSkill(root, own, files).catch(
        (error: unknown) => void skipped.push(`skipped ${join(root, own, 'SKILL.md')}: ${getErrorMessage(error)}`),
      )
      if (skill !== undefined) skills.push(skill)
    }
    for (const message of skipped) if (!this.#skipped.includes(message)) this.#context.log.warn(message)
    this.#skipped = skipped
    this.#files = new Map(skills.flatMap(({ files }) => files).map(file => [file.path, file]))
    return skills
  }

  /** @throws Error if it is invalid, or a file cannot be read */
  async #readSkill(root: string, directory: string, paths: readonly string[]): Promise<LocalSkill> {
    const found = new Map<string, Stats>()
    for (const path of paths) found.set(path, await stat(join(root, path)))
    const limit = findLimitProblem([...found.values()].map(({ size }) => size))
    if (limit !== undefined) throw new Error(limit)
    const [, yaml = ''] = FRONTMATTER.exec(String(await readFile(join(root, directory, 'SKILL.md')))) ?? []
    const frontmatter = checkFrontmatter(await this.#deps.parseYaml(yaml), basename(directory))
    const files: LocalFile[] = []
    for (const [own, { ino, size, mtimeMs }] of found) {
      const [path, stamp] = [join(root, own), `${ino} ${size} ${mtimeMs}`]
      const known = this.#files.get(path)
      files.push(known?.stamp === stamp ? known : { uri: createUri(own), path, stamp, ...digest(await readFile(path)) })
    }
    return { uri: createUri(`${directory}SKILL.md`), frontmatter, files }
  }
}

/** Reads a file, but no link, device or large file that has replaced it. */
async function readFile(path: string): Promise<Buffer> {
  const file = await open(path, READ_ONLY)
  try {
    const stats = await file.stat()
    const isOwn = stats.isFile() && (await realpath(path)) === path
    const why = isOwn ? findLimitProblem([stats.size]) : 'it is not a file'
    if (why !== undefined) throw new Error(why)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Lists relative paths, without links and hidden files. @throws Error if the directory cannot be read */
async function listFiles(root: string, directory: string, skipped: string[]): Promise<string[]> {
  const files: string[] = []
  for (const entry of await readdir(join(root, directory), { withFileTypes: true })) {
    const path = directory + entry.name
    if (HIDDEN.test(entry.name)) continue
    if (entry.isFile()) files.push(path)
    if (!entry.isDirectory()) continue
    const inner = listFiles(root, `${path}/`, skipped)
    const found = await inner.catch((error: unknown) => void skipped.push(`skipped: ${getErrorMessage(error)}`))
    for (const file of found ?? []) files.push(file)
  }
  return files
}

/** @throws Error if the name or the description is missing or invalid */
function checkFrontmatter(frontmatter: unknown, directory: string): JsonObject {
  if (!isObject(frontmatter)) throw new Error('it has no frontmatter')
  if (frontmatter.name !== directory || !NAME.test(directory))
    throw new Error(`"name" must be the name of its directory, "${directory}", in lower case with hyphens`)
  if (typeof frontmatter.description !== 'string') throw new Error('"description" is missing')
  return frontmatter
}

type HandlerResult = JsonObject | undefined
type Handler = (skills: readonly LocalSkill[], uri: string) => HandlerResult | Promise<HandlerResult>

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['skills/list', skills => ({ skills: skills.map(describeSkill) })],
  ['skills/get', getSkill],
  ['resources/list', skills => ({ resources: skills.map(describeResource) })],
  ['tools/list', () => ({ tools: [] })],
  ['resources/templates/list', () => ({ resourceTemplates: [] })],
  ['resources/read', readResource],
  ['resources/directory/read', readSkillDirectory],
])

function getSkill(skills: readonly LocalSkill[], uri: string): HandlerResult {
  const skill = skills.find(one => one.uri === uri)
  return skill && { skill: describeSkill(skill) }
}

function describeSkill({ uri, frontmatter, files }: LocalSkill): JsonObject {
  return { uri, frontmatter, resources: files.map(({ uri, digest, size }) => ({ uri, digest, size })) }
}

function describeResource({ uri, frontmatter }: LocalSkill): JsonObject {
  return { uri, name: frontmatter.name, description: frontmatter.description, mimeType: 'text/markdown' }
}

async function readResource(skills: readonly LocalSkill[], uri: string): Promise<HandlerResult> {
  const file = skills.flatMap(({ files }) => files).find(one => one.uri === uri)
  const bytes = file && (await readFile(file.path).catch(() => undefined))
  if (bytes === undefined) return undefined
  const text = bytes.toString('utf8')
  return { contents: [{ uri, ...(Buffer.from(text).equals(bytes) ? { text } : { blob: bytes.toString('base64') }) }] }
}

function readSkillDirectory(skills: readonly LocalSkill[], uri: string): HandlerResult {
  const prefix = uri.endsWith('/') ? uri : `${uri}/`
  const resources = new Map<string, JsonObject>()
  for (const file of skills.flatMap(({ files }) => files).filter(one => one.uri.startsWith(prefix))) {
    const [name = '', inner] = file.uri.slice(prefix.length).split('/')
    const kind = inner === undefined ? { size: file.size } : { mimeType: 'inode/directory' }
    resources.set(name, { uri: prefix + name, name: decodeURIComponent(name), ...kind })
  }
  return resources.size === 0 ? undefined : { resources: [...resources.values()] }
}

function createUri(path: string): string {
  return canonicalizeUri(`skill://${path.split('/').map(encodeURIComponent).join('/')}`)
}
