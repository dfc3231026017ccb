import { type JsonObject, sqlNumber, sqlText, type SqlDatabase, type SqlRow } from '../../../src/plugin.ts'
import type { Page, Question, QuestionAnswer, TaskEvent } from '../types/tasks.ts'

/** Owner that it must belong to; nothing is read without that. */
const OF_OWNER = 'task = (SELECT id FROM tasks WHERE id = ? AND owner = ?)'

/** A question, and what was answered. */
export interface AskedQuestion extends Question {
  readonly answer: QuestionAnswer | undefined
}

/** Text, events and questions of tasks, on disk. */
export class OutputStore {
  readonly #database: SqlDatabase

  constructor(database: SqlDatabase) {
    this.#database = database
  }

  addEvent(task: string, { seq, at, kind, text }: TaskEvent): void {
    this.#database.run('INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?)', task, seq, at, kind, text)
  }

  /** Keeps those after this number. */
  dropEvents(task: string, upTo: number): void {
    this.#database.run('DELETE FROM events WHERE task = ? AND seq <= ?', task, upTo)
  }

  events(id: string, owner: string, since: number, limit: number): TaskEvent[] {
    return this.#database
      .all(
        `SELECT * FROM events WHERE ${OF_OWNER} AND seq > ? ORDER BY seq LIMIT ?`,
        ...[id, owner, since, limit],
      )
      .map(({ seq, at, kind, text }) => ({
        seq: sqlNumber(seq),
        at: sqlNumber(at),
        kind: String(kind) as TaskEvent['kind'],
        text: String(text),
      }))
  }

  addChunk(task: string, what: 'text' | 'diff', offset: number, bytes: Buffer): void {
    const sql = 'INSERT INTO chunks VALUES (?, ?, ?, ?, ?)'
    this.#database.run(sql, task, what, offset, bytes.length, bytes)
  }

  dropChunks(task: string, what: 'text' | 'diff'): void {
    this.#database.run('DELETE FROM chunks WHERE task = ? AND what = ?', task, what)
  }

  /** Bytes from an offset on, as far as there are any. */
  bytes(id: string, owner: string, what: 'text' | 'diff', offset: number, length: number): Buffer {
    const rows = this.#database.all(
      `SELECT offset, bytes FROM chunks WHERE ${OF_OWNER} AND what = ? AND offset < ? AND offset + length > ?
        ORDER BY offset`,
      ...[id, owner, what, offset + length, offset],
    )
    const first = rows.length === 0 ? 0 : sqlNumber(rows[0]?.offset)
    const all = Buffer.concat(
      rows.map(({ bytes }) => (bytes instanceof Uint8Array ? bytes : Buffer.alloc(0))),
    )
    return all.subarray(Math.max(offset - first, 0), offset - first + length)
  }

  ask(task: string, { id, kind, message, schema }: Question): void {
    const sql = 'INSERT OR REPLACE INTO questions VALUES (?, ?, ?, ?, ?, NULL)'
    this.#database.run(sql, task, id, kind, message, JSON.stringify(schema))
  }

  /** Answers it once: false when it is not open. */
  answer(id: string, owner: string, question: string, answer: QuestionAnswer): boolean {
    const sql = `UPDATE questions SET answer = ? WHERE ${OF_OWNER} AND id = ? AND answer IS NULL`
    return this.#database.run(sql, JSON.stringify(answer), id, owner, question) === 1
  }

  /** Deletes the open questions of a task, as nobody waits for them any more. */
  withdraw(task: string): void {
    this.#database.run('DELETE FROM questions WHERE task = ? AND answer IS NULL', task)
  }

  question(id: string, owner: string, question: string): AskedQuestion | undefined {
    const row = this.#database.get(
      `SELECT * FROM questions WHERE ${OF_OWNER} AND id = ?`,
      id,
      owner,
      question,
    )
    return row === undefined ? undefined : questionOf(row)
  }

  openQuestions(id: string, owner: string): Question[] {
    return this.#database
      .all(`SELECT * FROM questions WHERE ${OF_OWNER} AND answer IS NULL ORDER BY id`, id, owner)
      .map(questionOf)
      .map(({ answer: _, ...question }) => question)
  }

  addAttempt(task: string, agent: string): number {
    const sql = 'SELECT coalesce(max(number), 0) + 1 AS n FROM attempts WHERE task = ?'
    const number = sqlNumber(this.#database.get(sql, task)?.n)
    this.#database.run('INSERT INTO attempts VALUES (?, ?, ?, NULL)', task, number, agent)
    return number
  }

  endAttempt(task: string, number: number, failure: string): void {
    const sql = 'UPDATE attempts SET failure = ? WHERE task = ? AND number = ?'
    this.#database.run(sql, failure, task, number)
  }

  attempts(id: string, owner: string): { agent: string; failure: string | undefined }[] {
    return this.#database
      .all(`SELECT * FROM attempts WHERE ${OF_OWNER} ORDER BY number`, id, owner)
      .map(({ agent, failure }) => ({ agent: String(agent), failure: sqlText(failure) }))
  }
}

/** A piece of some bytes that begins and ends between characters. */
export function pageOf(
  bytes: Buffer,
  { offset, kept, total }: { offset: number; kept: number; total: number },
): Page {
  const start = firstBoundary(bytes)
  const isLast = offset + bytes.length >= kept
  const end = isLast ? bytes.length : lastBoundary(bytes)
  const next = offset + end
  return {
    text: bytes.toString('utf8', start, Math.max(end, start)),
    next: isLast ? undefined : next,
    end: next,
    total,
    cut: total > kept,
  }
}

/** Start of the first whole character. */
function firstBoundary(bytes: Buffer): number {
  let at = 0
  while (at < 3 && at < bytes.length && isInside(bytes[at])) at++
  return at
}

/** End of the last whole character; all of it when it is too short to hold one. */
export function lastBoundary(bytes: Buffer): number {
  let start = bytes.length - 1
  while (start > 0 && start > bytes.length - 4 && isInside(bytes[start])) start--
  const lead = bytes[start] ?? 0
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  if (start + length <= bytes.length) return bytes.length
  return start === 0 ? bytes.length : start
}

function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function questionOf({ id, kind, message, schema, answer }: SqlRow): AskedQuestion {
  return {
    id: String(id),
    kind: String(kind) as Question['kind'],
    message: String(message),
    schema: JSON.parse(String(schema)) as JsonObject,
    answer: typeof answer === 'string' ? (JSON.parse(answer) as QuestionAnswer) : undefined,
  }
}
