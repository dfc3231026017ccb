import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { ApprovalJournal, type GrantedCall } from '../../../../plugins/approve/unfinished-calls.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { callOf, connect, retryOf, setting, textOf } from './setting.ts'

const SCRIPT = fileURLToPath(new URL('../fixtures/journal-on-a-small-disk.ts', import.meta.url))
const GRANTED: GrantedCall = {
  id: 'one',
  digest: 'd',
  method: 'tools/call',
  name: 'pay__send',
  upstream: 'pay',
  rule: 'money',
  by: 'owner',
}
/** A number that no process has. */
const NOBODY = 4_194_305

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'journal-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('an approval that a full disk has no room for is not noted at all, and spoils no other note', async () => {
  const disk = '/mnt'
  const { stdout } = await promisify(execFile)('bwrap', [
    ...['--bind', '/', '/', '--dev-bind', '/dev', '/dev', '--size', String(2 ** 20), '--tmpfs', disk],
    ...['--die-with-parent', process.execPath, '--disable-warning=ExperimentalWarning', SCRIPT, disk],
  ])
  const { refused, again, left, files } = JSON.parse(stdout) as Record<string, unknown>

  assert.match(String(refused), /disk is full/)
  assert.equal(again, 'done')
  assert.deepEqual(left, ['two', 'four'])
  assert.equal(files, 1)
})

test('the answer of a call that ran is delivered where its end cannot be noted, and the log says so', async t => {
  const { gateway, sent } = await setting(
    t,
    {},
    {
      config: { state: { directory: place(t) } },
      run: () => {
        ApprovalJournal.prototype.recordEnd = (): never => {
          throw new Error('no space left on device')
        }
        return 'sent'
      },
    },
  )
  const { recordEnd } = ApprovalJournal.prototype
  cleanup(t, () => void (ApprovalJournal.prototype.recordEnd = recordEnd))
  const client = await connect(t, gateway)
  const first = await client.request('tools/call', callOf(7))

  const answer = await client.request('tools/call', retryOf(callOf(7), first, { approve: true }))

  assert.equal(textOf(answer), 'sent')
  assert.deepEqual(sent(), [7])
  assert.ok(gateway.log.some(({ message }) => /cannot record the completion of an approved call/.test(String(message))))
})

test('what a dead process began is told by one process alone, and by the next where that one dies, too', t => {
  const directory = place(t)
  const dead = new DatabaseSync(join(directory, 'approvals.db'))
  dead.exec('CREATE TABLE calls (id TEXT PRIMARY KEY, owner TEXT NOT NULL, call TEXT NOT NULL)')
  dead.prepare('INSERT INTO calls VALUES (?, ?, ?)').run(GRANTED.id, `${NOBODY} x`, JSON.stringify(GRANTED))
  dead.close()
  const [one, other] = [new ApprovalJournal(directory), new ApprovalJournal(directory)]

  assert.deepEqual([one.claimUnfinished(), other.claimUnfinished()], [[GRANTED], []])
  // It dies before it has told all that keep it.
  one.close()
  other.close()
  const left = new ApprovalJournal(directory)
  assert.deepEqual(left.claimUnfinished(), [GRANTED])
  left.forgetClaimed()
  left.close()
  assert.deepEqual(new ApprovalJournal(directory).claimUnfinished(), [])
})
