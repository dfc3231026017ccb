import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from '../../fixtures/run-command.ts'

for (const [id, flag] of [
  ['validate', 'config'],
  ['ps', 'config'],
  ['validate', 'env'],
  ['ps', 'socket'],
] as const)
  test(`an empty --${flag} of gateway ${id}, as a variable that is not set leaves it, is said to be empty`, async () => {
    const { stdout } = await runCommand([id, `--${flag}`, '', '--json'])

    const { code, message } = (JSON.parse(stdout) as { error: { code: string; message: string } }).error
    assert.equal(code, 'GW_USAGE')
    assert.equal(message, `--${flag}: the value is empty: set one, or omit it`)
  })
