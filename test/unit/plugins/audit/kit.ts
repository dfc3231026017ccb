import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { JournalContents, Sink, AuditJournalDeps } from '../../../../plugins/audit/audit-journal.ts'
import type { Clock } from '../../../../src/api/index.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { SILENT } from '../install.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

/** A directory that goes with the test. */
export async function directoryFor(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'audit-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  return directory
}

/** The lines of a file, parsed. */
export async function linesOf(file: string): Promise<JsonObject[]> {
  const text = await readFile(file, 'utf8')
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as JsonObject)
}

/** Those of calls. */
export async function callsIn(file: string): Promise<JsonObject[]> {
  return (await linesOf(file)).filter(line => line.kind === 'call')
}

/** A disk with room for so many bytes. */
export class SmallDisk implements Sink {
  text = ''
  room: number

  constructor(room: number) {
    this.room = room
  }

  get size(): number {
    return this.text.length
  }

  open(): JournalContents {
    return { first: undefined, last: undefined, torn: 0 }
  }

  append(bytes: Buffer): void {
    if (bytes.length > this.room) throw new Error('ENOSPC: no space left on device')
    this.room -= bytes.length
    this.text += bytes.toString('utf8')
  }

  rotate(): void {}

  close(): void {}
}

export function hostOf(sink: Sink, clock: Clock): AuditJournalDeps {
  return { sink, clock, log: SILENT, note: (kind, fields) => JSON.stringify({ kind, ...fields }) }
}
