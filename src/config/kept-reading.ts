import { createHash, createHmac, randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isPlain, setOwn } from '../util/plain-data.ts'
import type { Finding } from '../util/finding.ts'
import { writeWhole } from '../util/storage/write-whole.ts'
import { ownPackage } from '../util/version.ts'
import { SCHEMA } from './generated/validator.gen.ts'
import type { ReportProblem } from './problem.ts'
import type { Entry, Origin, Scalar, Tree } from './source/tree.ts'
import { parseYaml } from './source/yaml.ts'
import { validate } from './validate.ts'

/** Format of a file. */
const FORMAT = 1
const LARGEST_FILE = 4 * 1024 * 1024
/** Configurations that are kept for one user. */
const MOST_FILES = 64
/** Texts of one configuration, and values that were valid. */
const MOST_TEXTS = 32
const MOST_VALID = 4
/** Bits of a mode that let others in. */
const OTHERS = 0o077
/** Shorter texts are no secrets. */
const SHORTEST_SECRET = 4

/** Results of an earlier start. */
interface Kept {
  /** Program that made them: another one may read the same in another way. */
  readonly by: string
  readonly salt: string
  /** Trees by the digest of their texts. */
  readonly trees: Readonly<Record<string, WrittenTree>>
  readonly valid: readonly Valid[]
}

/** Digest of a value that was valid, and what validation adds to it. */
type Valid = readonly [digest: string, additions: Additions]

/**
 * Reads texts and checks values as an earlier start has done, where they are the same to the letter: what a text says, and what is
 * valid, depends on nothing else. Placeholders are filled in, and everything outside is looked at, by each start anew.
 */
export class KeptReading {
  readonly #directory: string
  #file: string | undefined
  #kept: Kept | undefined
  #trees = new Map<string, WrittenTree | undefined>()
  #valid: Valid | undefined
  #salt = ''
  #isNew = false

  /** `directory` is the user's own, such as `~/.cache/tapgate/configurations`. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** Begins to read the configuration of this file. */
  begin(configuration: string): void {
    const file = join(this.#directory, `${digest(configuration).slice(0, 16)}.json`)
    this.#file = file
    this.#kept = orNothing(() => keptIn(file))
    this.#salt = this.#kept?.salt ?? randomBytes(16).toString('hex')
    this.#trees = new Map()
    this.#valid = undefined
    this.#isNew = false
  }

  /** Parses a text; undefined after reporting why it could not. */
  parse(text: string, file: string, report: ReportProblem): Tree | undefined {
    const key = digest(text)
    const known = this.#kept?.trees[key]
    const tree = known && orNothing(() => readTree(known, file))
    if (tree === undefined) return this.#parse(text, key, file, report)
    this.#trees.set(key, known)
    return tree
  }

  #parse(text: string, key: string, file: string, report: ReportProblem): Tree | undefined {
    let isQuiet = true
    const tree = parseYaml(text, file, problem => {
      isQuiet = false
      report(problem)
    })
    this.#isNew = true
    this.#trees.set(key, tree !== undefined && isQuiet ? writeTree(tree) : undefined)
    return tree
  }

  /** Checks plain data against the schema and fills in defaults, in place. */
  validate(value: unknown): Finding[] {
    const written = JSON.stringify(value)
    const sealed = seal(written, this.#salt)
    const known = this.#kept?.valid.find(([key]) => key === sealed)
    if (known !== undefined) {
      add(known[1], value)
      return []
    }
    const findings = validate(value)
    const added = findings.length === 0 ? additionsTo(JSON.parse(written), value) : undefined
    this.#isNew = true
    this.#valid = added && [sealed, added]
    return findings
  }

  /** Keeps what was read, unless a secret stands in it as it is. Never rejects: the next start reads it again. */
  async save(secrets: readonly string[]): Promise<void> {
    const text = this.#isNew ? JSON.stringify(this.#made()) : ''
    const file = this.#file
    this.#kept = undefined
    this.#trees.clear()
    const hasSecret = secrets.some(secret => holds(text, secret))
    if (!this.#isNew || file === undefined || text.length > LARGEST_FILE || hasSecret) return
    this.#isNew = false
    try {
      await writeWhole(file, Buffer.from(text), rename)
      await forgetOldest(this.#directory)
    } catch {
      // A directory that takes nothing keeps nothing.
    }
  }

  #made(): Kept {
    // Other starts of the same file may have other settings.
    const { trees = {}, valid = [] } = this.#kept ?? {}
    const read = [...this.#trees].flatMap(([key, tree]) => (tree === undefined ? [] : [[key, tree] as const]))
    const before = Object.entries(trees).filter(([key]) => !this.#trees.has(key))
    return {
      by: maker(),
      salt: this.#salt,
      trees: Object.fromEntries([...read, ...before].slice(0, MOST_TEXTS)),
      valid: [...(this.#valid === undefined ? [] : [this.#valid]), ...valid].slice(0, MOST_VALID),
    }
  }
}

/** Program that reads. */
function maker(): string {
  return [FORMAT, ownPackage().version, process.version, digest(SCHEMA)].join(' ')
}

function keptIn(file: string): Kept | undefined {
  const kept = JSON.parse(readOwn(file)) as Kept
  const isWhole = isPlain(kept.trees) && Array.isArray(kept.valid) && typeof kept.salt === 'string'
  return kept.by === maker() && isWhole ? kept : undefined
}

/** Runs a read; what cannot be read is as if it were not there. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Text of a file that is this user's alone. */
function readOwn(file: string): string {
  const opened = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { uid, mode, size } = fstatSync(opened)
    const own = process.getuid?.()
    const isOwn = own === undefined || (uid === own && (mode & OTHERS) === 0)
    if (!isOwn || size > LARGEST_FILE) throw new Error('it is not ours')
    return readFileSync(opened, 'utf8')
  } finally {
    closeSync(opened)
  }
}

function holds(text: string, secret: string): boolean {
  return secret.length >= SHORTEST_SECRET && text.includes(JSON.stringify(secret).slice(1, -1))
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function seal(text: string, salt: string): string {
  return createHmac('sha256', salt).update(text).digest('hex')
}

async function forgetOldest(directory: string): Promise<void> {
  const names = await readdir(directory)
  if (names.length <= MOST_FILES) return
  const files = await Promise.all(
    names.map(async name => ({ name, at: (await stat(join(directory, name))).mtimeMs })),
  )
  const old = files.toSorted((one, other) => other.at - one.at).slice(MOST_FILES)
  await Promise.all(old.map(({ name }) => rm(join(directory, name), { force: true })))
}

/** Values that were added to plain data, by key: whole ones, or what was added inside. */
type Additions = readonly (readonly [key: string, whole: unknown] | readonly [key: string, 0, Additions])[]

/** Lists what `after` has and `before` has not; undefined where anything else differs. */
function additionsTo(before: unknown, after: unknown): Additions | undefined {
  if (!isObjectLike(before) || !isObjectLike(after) || Array.isArray(before) !== Array.isArray(after))
    return Object.is(before, after) ? [] : undefined
  if (Object.keys(before).some(key => !Object.hasOwn(after, key))) return undefined
  const found: Additions[number][] = []
  for (const [key, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, key)) found.push([key, value])
    else {
      const inner = additionsTo(before[key], value)
      if (inner === undefined) return undefined
      if (inner.length > 0) found.push([key, 0, inner])
    }
  }
  return found
}

/** Puts additions into plain data, in place. */
function add(additions: Additions, to: unknown): void {
  if (!isObjectLike(to)) return
  for (const [key, whole, inner] of additions)
    if (inner === undefined) setOwn(to, key, whole)
    else add(inner, to[key])
}

function isObjectLike(value: unknown): value is Record<string, unknown> {
  return Array.isArray(value) || isPlain(value)
}

/** A tree as it is kept: what it is, its line and column, and what is in it. The file is known by who reads it. */
type WrittenTree =
  | readonly ['s', line: number, col: number, value: Scalar]
  | readonly ['l', line: number, col: number, items: readonly WrittenTree[]]
  | readonly ['m', line: number, col: number, entries: readonly WrittenEntry[]]

type WrittenEntry = readonly [name: string, line: number, col: number, tree: WrittenTree]

/** Writes a tree that was read from one text; undefined for any other. */
function writeTree(tree: Tree): WrittenTree | undefined {
  const { origin } = tree
  if (origin.from !== 'file' || origin.by !== undefined) return undefined
  const { line, col } = origin
  // JSON has no -0.
  if (tree.kind === 'scalar')
    return tree.removes === true || Object.is(tree.value, -0) ? undefined : ['s', line, col, tree.value]
  if (tree.kind === 'list') {
    const items = tree.items.map(writeTree)
    return items.every(item => item !== undefined) ? ['l', line, col, items] : undefined
  }
  if (tree.fresh === true) return undefined
  const entries = [...tree.entries].map(([name, entry]) => writeEntry(name, entry))
  return entries.every(entry => entry !== undefined) ? ['m', line, col, entries] : undefined
}

function writeEntry(name: string, { key, tree }: Entry): WrittenEntry | undefined {
  const written = writeTree(tree)
  return key.from !== 'file' || written === undefined ? undefined : [name, key.line, key.col, written]
}

/** The tree of a text, as it was read from this file. */
function readTree(written: WrittenTree, file: string): Tree {
  const [kind, line, col, inner] = written
  const origin: Origin = { from: 'file', file, line, col }
  if (kind === 's') return { kind: 'scalar', origin, value: inner }
  if (kind === 'l') return { kind: 'list', origin, items: inner.map(item => readTree(item, file)) }
  const entries = new Map<string, Entry>()
  for (const [name, row, column, tree] of inner)
    entries.set(name, { key: { from: 'file', file, line: row, col: column }, tree: readTree(tree, file) })
  return { kind: 'map', origin, entries }
}
