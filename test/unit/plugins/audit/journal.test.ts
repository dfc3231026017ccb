import assert from 'node:assert/strict'
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { AuditJournal, JournalFile } from '../../../../plugins/audit/audit-journal.ts'
import { verifyChain } from '../../../../plugins/audit/commands.ts'
import { directoryFor, hostOf, linesOf, SmallDisk } from './kit.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const CHAINED = { maxSize: 1e9, keep: 3, chain: true }

function journalAt(file: string, settings = CHAINED): AuditJournal {
  return new AuditJournal(settings, hostOf(new JournalFile(file), new HandClock()))
}

function add(journal: AuditJournal, from: number, to: number): void {
  for (let n = from; n < to; n++) journal.add(JSON.stringify({ n, text: 'ü' }))
}

describe('a journal', () => {
  test('finds any byte of it that was changed', async t => {
    const file = join(await directoryFor(t), 'audit.jsonl')
    const journal = journalAt(file)
    add(journal, 0, 2)
    journal.close()
    const bytes = await readFile(file)
    assert.deepEqual([(await verifyChain(file)).isIntact, (await verifyChain(file)).lines], [true, 3])

    const missed: number[] = []
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ 1
      await writeFile(file, changed)
      if ((await verifyChain(file)).isIntact) missed.push(at)
    }
    assert.deepEqual(missed, [])
  })

  test('finds a line that was taken out, and one that was moved', async t => {
    const file = join(await directoryFor(t), 'audit.jsonl')
    const journal = journalAt(file)
    add(journal, 0, 3)
    journal.close()
    const [opened, first, second, third] = (await readFile(file, 'utf8')).split('\n')

    await writeFile(file, [opened, first, third, ''].join('\n'))
    assert.equal((await verifyChain(file)).problem?.line, 3)
    await writeFile(file, [opened, second, first, third, ''].join('\n'))
    assert.equal((await verifyChain(file)).problem?.line, 2)
  })

  test('finds lines taken from its end by the hash of the last', async t => {
    const file = join(await directoryFor(t), 'audit.jsonl')
    const journal = journalAt(file)
    add(journal, 0, 3)
    journal.close()
    const { head } = await verifyChain(file)
    assert.equal((await verifyChain(file, head)).isIntact, true)

    const lines = (await readFile(file, 'utf8')).split('\n')
    await writeFile(file, [...lines.slice(0, -2), ''].join('\n'))
    assert.deepEqual([(await verifyChain(file)).isIntact, (await verifyChain(file, head)).isIntact], [true, false])
  })

  test('keeps its chain through rotations and restarts, and as many files as it should', async t => {
    const directory = await directoryFor(t)
    const file = join(directory, 'audit.jsonl')
    for (let run = 0; run < 3; run++) {
      const journal = journalAt(file, { maxSize: 400, keep: 2, chain: true })
      for (let n = 0; n < 4; n++) {
        add(journal, n, n + 4)
        journal.flush()
      }
      journal.close()
    }

    assert.deepEqual((await readdir(directory)).sort(), ['audit.jsonl', 'audit.jsonl.1', 'audit.jsonl.2'])
    const { isIntact, files } = await verifyChain(file)
    assert.deepEqual([isIntact, files.length], [true, 3])
    await writeFile(`${file}.1`, (await readFile(`${file}.1`, 'utf8')).replace('"n":', '"m":'))
    assert.equal((await verifyChain(file)).problem?.file, `${file}.1`)
  })
})

describe('a chain', () => {
  /** Three runs of the gateway in one file, and the lines of it. */
  async function threeRuns(t: TestContext): Promise<{ file: string; lines: string[] }> {
    const file = join(await directoryFor(t), 'audit.jsonl')
    for (let run = 0; run < 3; run++) {
      const journal = journalAt(file)
      add(journal, run * 5, run * 5 + 5)
      journal.close()
    }
    return { file, lines: (await readFile(file, 'utf8')).split('\n').slice(0, -1) }
  }

  test('is broken when lines at its beginning were taken away, wherever the rest begins', async t => {
    const { file, lines } = await threeRuns(t)
    assert.deepEqual([lines.length, (await verifyChain(file)).isIntact], [18, true])

    const passed: number[] = []
    for (let removed = 1; removed < lines.length; removed++) {
      await writeFile(file, `${lines.slice(removed).join('\n')}\n`)
      if ((await verifyChain(file)).isIntact) passed.push(removed)
    }

    assert.deepEqual(passed, [])
  })

  test('is broken when a file that was set aside is missing, and when a file is empty', async t => {
    const file = join(await directoryFor(t), 'audit.jsonl')
    const journal = journalAt(file, { maxSize: 400, keep: 3, chain: true })
    for (let n = 0; n < 6; n++) {
      add(journal, n, n + 4)
      journal.flush()
    }
    journal.close()
    const oldest = await readFile(`${file}.3`)

    await rm(`${file}.3`)
    const missing = await verifyChain(file)
    assert.deepEqual([missing.isIntact, missing.problem?.file, missing.problem?.line], [false, `${file}.3`, 0])
    await writeFile(`${file}.3`, oldest)
    assert.equal((await verifyChain(file)).isIntact, true)
    await writeFile(file, '')
    assert.equal((await verifyChain(file)).isIntact, false)
  })
})

describe('a journal in trouble', () => {
  test('goes on after a line that was torn, and says so', async t => {
    const file = join(await directoryFor(t), 'audit.jsonl')
    const before = journalAt(file)
    add(before, 0, 2)
    before.close()
    await appendFile(file, '{"n":2,"te')

    const after = journalAt(file)
    add(after, 3, 4)
    after.close()

    assert.equal((await verifyChain(file)).isIntact, true)
    const lines = await linesOf(file)
    assert.deepEqual(
      lines.map(line => line.n ?? line.torn),
      [undefined, 0, 1, 10, 3],
    )
  })

  test('waits while a disk is full, says that it does, and goes on where it was', () => {
    const clock = new HandClock()
    const disk = new SmallDisk(150)
    const journal = new AuditJournal({ ...CHAINED, chain: false }, hostOf(disk, clock))
    add(journal, 0, 10)
    journal.flush()
    assert.equal(journal.isFailing, true)

    add(journal, 10, 12)
    disk.room = 10_000
    clock.pass(1000)
    journal.flush()

    assert.equal(journal.isFailing, false)
    const lines = disk.text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { n?: number })
    assert.deepEqual(
      lines.map(line => line.n),
      [undefined, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    )
  })

  test('holds so many lines and no more, and counts those that are lost', () => {
    const disk = new SmallDisk(0)
    const journal = new AuditJournal({ ...CHAINED, chain: false }, hostOf(disk, new HandClock()))
    add(journal, 0, 30_000)
    journal.flush()
    assert.equal(journal.isFailing, true)
    const { lost } = journal
    assert.ok(lost > 0 && lost < 30_000)

    disk.room = 1e9
    journal.flush()
    journal.flush()

    assert.match(disk.text, new RegExp(`"kind":"lost","lines":${lost}`))
    assert.equal(disk.text.match(/"n":/g)?.length, 30_000 - lost)
  })

  test('loses at most the last second when it is killed, and its chain holds', async t => {
    const file = join(await directoryFor(t), 'audit.jsonl')
    const child = spawn(process.execPath, [join(import.meta.dirname, '../fixtures/audit-writer.ts'), file])
    const told: [n: number, at: number][] = []
    child.stdout.on('data', (piece: Buffer) => {
      for (const n of piece.toString().trim().split('\n')) told.push([Number(n), performance.now()])
    })
    while ((told.at(-1)?.[0] ?? 0) < 500) await once(child.stdout, 'data')
    await passed(100)
    child.kill('SIGKILL')
    const killedAt = performance.now()
    await once(child, 'close')

    const kept = (await readFile(file, 'utf8')).split('\n').slice(1, -1)
    const numbers = kept.map(line => (JSON.parse(line) as { n: number }).n)
    assert.deepEqual(numbers, [...numbers.keys()])
    const owed = told.filter(([, at]) => at < killedAt - 1000).map(([n]) => n)
    assert.ok(numbers.length > Math.max(-1, ...owed), `${numbers.length} lines, ${told.at(-1)?.[0]} told`)
    const after = journalAt(file)
    add(after, 0, 1)
    after.close()
    assert.equal((await verifyChain(file)).isIntact, true)
  })
})
