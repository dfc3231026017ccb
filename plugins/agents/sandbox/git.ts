import type { Programs } from '../../../src/plugin.ts'
import { cleanLine } from './text.ts'

const MAX_WORDS = 4096
const TIMEOUT_MS = 120_000

/** Nothing of the user's or of an agent's makes it run programs, ask, or reach the network. */
const CAREFUL = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.attributesFile': '/dev/null',
  'diff.ignoreSubmodules': 'all',
  'submodule.recurse': 'false',
  'commit.gpgSign': 'false',
  'protocol.allow': 'never',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'advice.detachedHead': 'false',
  'user.name': 'tapgate',
  'user.email': 'tapgate@localhost',
}
const VARIABLES = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '/bin/false',
  GIT_EDITOR: '/bin/false',
  GIT_PAGER: 'cat',
  GIT_OPTIONAL_LOCKS: '0',
  LC_ALL: 'C',
}

/** What one run of git came to. */
export interface GitAnswer {
  readonly ok: boolean
  /** The first bytes of its stdout. */
  readonly bytes: Buffer
  /** All that it wrote there, kept or not. */
  readonly total: number
  /** Why it failed, as one line. */
  readonly why: string
}

/** Runs git in one directory, for its answer. */
export class Git {
  readonly #programs: Programs
  readonly #cwd: string
  readonly #before: readonly string[]

  /** `before`: arguments before each command, such as `--git-dir`. */
  constructor(programs: Programs, cwd: string, before: readonly string[] = []) {
    this.#programs = programs
    this.#cwd = cwd
    this.#before = before
  }

  /** Its answer, with at most `most` bytes. Never rejects for what git says. */
  async run(args: readonly string[], most = 1024 * 1024): Promise<GitAnswer> {
    const settings = Object.entries(CAREFUL).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const gathered = { stdout: new Gathered(most), stderr: new Gathered(MAX_WORDS) }
    const ended = Promise.withResolvers<{ why: string; code: number | null | undefined }>()
    const program = await this.#programs.launch({
      name: 'git',
      command: 'git',
      args: [...settings, ...this.#before, ...args],
      cwd: this.#cwd,
      env: { ...this.#programs.environment(['PATH'], {}), ...VARIABLES },
      maxLine: 0,
      onLine: () => undefined,
      onOutput: (chunk, from) => gathered[from].push(chunk),
      onEnd: (why, exit) => ended.resolve({ why, code: exit?.code }),
    })
    const late = setTimeout(() => void program.stop(), TIMEOUT_MS).unref()
    const { why, code } = await ended.promise.finally(() => clearTimeout(late))
    const said = cleanLine(gathered.stderr.bytes.toString(), 400).trim()
    const { bytes, total } = gathered.stdout
    return { ok: code === 0, bytes, total, why: said === '' ? why : said }
  }

  /** Its answer as text without the line end. @throws Error with what git says */
  async ask(...args: readonly string[]): Promise<string> {
    const { ok, bytes, why } = await this.run(args)
    if (!ok) throw new Error(why)
    return bytes.toString().replace(/\n$/, '')
  }
}

/** The first bytes of a stream, and how many there were. */
class Gathered {
  readonly #most: number
  readonly #chunks: Buffer[] = []
  #kept = 0
  total = 0

  constructor(most: number) {
    this.#most = most
  }

  push(chunk: Buffer): void {
    this.total += chunk.length
    const part = chunk.subarray(0, this.#most - this.#kept)
    this.#kept += part.length
    if (part.length > 0) this.#chunks.push(part)
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks)
  }
}
