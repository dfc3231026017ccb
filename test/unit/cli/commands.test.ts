import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { COMMANDS } from '../../../src/cli/run-command.ts'

const SNAPSHOT = new URL('./commands.snapshot.json', import.meta.url)

// Update after a change on purpose: UPDATE_SNAPSHOTS=1 node --test test/unit/cli/commands.test.ts
test('commands, arguments and flags are those people rely on', async () => {
  const current = Object.entries(COMMANDS).map(([command, { args, flags }]) => ({
    command,
    args: Object.keys(args),
    flags: Object.entries(flags).map(([name, flag]) => (flag.char === undefined ? name : `${name} -${flag.char}`)),
  }))
  const text = `${JSON.stringify(current, undefined, 2)}\n`
  if (process.env['UPDATE_SNAPSHOTS']) await writeFile(SNAPSHOT, text)

  assert.deepEqual(current, JSON.parse(await readFile(SNAPSHOT, 'utf8')))
})

test('every command has a summary, an example, and --json', () => {
  for (const [id, { summary, examples = [], flags }] of Object.entries(COMMANDS)) {
    assert.match(summary, /^[A-Z].*\.$/, id)
    assert.ok(examples.length > 0 && examples[0]?.startsWith(`gateway ${id.replace(':', ' ')}`), id)
    assert.ok('json' in flags, id)
    for (const [name, flag] of Object.entries(flags)) assert.ok(flag.summary, `${id} --${name}`)
  }
})
