import { createHash } from 'node:crypto'
import { readdir, readFile, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { reasonOf } from '../../errors/errors.ts'
import { isObject } from '../../protocol/json/json.ts'
import { writeWhole } from '../../util/storage/write-whole.ts'
import type { Terminal } from '../output/terminal.ts'
import { stateDirectory } from '../serve/state-directory.ts'

/** Time for which an answer is taken as it is. */
const FRESH_MS = 60 * 60 * 1000
/** Answers that are kept, and bytes of one. */
const MOST = 64
const LARGEST = 2 * 1024 * 1024

/** A no of a registry: it is an answer, so no older one stands in for it. */
export class SaidNo extends Error {}

/** An answer on disk. */
interface Kept {
  readonly at: number
  readonly answer: unknown
}

/** Answers of registries, for an hour; where a registry cannot be reached, older ones too. */
export class KeptAnswers {
  readonly #directory: string | undefined
  readonly #isFresh: boolean
  readonly #say: (text: string) => void

  /** With `isFresh` no kept answer is taken. `say` tells when an old one stands in. */
  constructor(terminal: Terminal, isFresh: boolean) {
    const state = stateDirectory({ file: 'any' }, terminal)
    // Beside the state of all configurations.
    this.#directory = state === undefined ? undefined : join(dirname(state), 'registries')
    this.#isFresh = isFresh
    this.#say = text => terminal.err.line(text)
  }

  /** The answer to a question: a kept one, or what `ask` gives. Rejects as `ask` does where nothing is kept. */
  async answer(question: string, ask: () => Promise<unknown>): Promise<unknown> {
    const kept = this.#isFresh ? undefined : await this.#read(question)
    const age = kept === undefined ? Infinity : Date.now() - kept.at
    if (kept !== undefined && age >= 0 && age < FRESH_MS) return kept.answer
    try {
      const answer = await ask()
      // A full disk is no reason not to have the answer.
      await this.#keep(question, answer).catch(() => undefined)
      return answer
    } catch (error) {
      if (kept === undefined || error instanceof SaidNo) throw error
      this.#say(`note: ${reasonOf(error)}; this is what was said on ${new Date(kept.at).toISOString()}`)
      return kept.answer
    }
  }

  async #read(question: string): Promise<Kept | undefined> {
    if (this.#directory === undefined) return undefined
    try {
      const file = fileOf(this.#directory, question)
      if ((await stat(file)).size > 2 * LARGEST) return undefined
      const found: unknown = JSON.parse(await readFile(file, 'utf8'))
      if (!isObject(found) || found.question !== question || typeof found.at !== 'number') return undefined
      return { at: found.at, answer: found.answer }
    } catch {
      return undefined
    }
  }

  async #keep(question: string, answer: unknown): Promise<void> {
    const bytes = Buffer.from(JSON.stringify({ question, at: Date.now(), answer }))
    if (this.#directory === undefined || bytes.length > LARGEST) return
    await writeWhole(fileOf(this.#directory, question), bytes, rename)
    await dropOldest(this.#directory)
  }
}

function fileOf(directory: string, question: string): string {
  return join(directory, `${createHash('sha256').update(question).digest('hex').slice(0, 32)}.json`)
}

async function dropOldest(directory: string): Promise<void> {
  const files = (await readdir(directory)).map(name => join(directory, name))
  if (files.length <= MOST) return
  const dated = await Promise.all(files.map(async file => ({ file, at: (await stat(file)).mtimeMs })))
  const oldest = dated.sort((one, other) => one.at - other.at).slice(0, files.length - MOST)
  await Promise.all(oldest.map(({ file }) => unlink(file)))
}
