import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Config } from '@oclif/core/config'
import { knownError } from '../../../src/cli/output/report.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

type Runnable = new (argv: string[], config: Config) => { run(): Promise<unknown> }

for (const [id, flag] of [
  ['validate', 'config'],
  ['ps', 'config'],
  ['validate', 'env'],
  ['ps', 'socket'],
] as const)
  test(`an empty --${flag} of gateway ${id}, as a variable that is not set leaves it, is said to be empty`, async () => {
    const command = COMMANDS[id] as unknown as Runnable
    const oclif = await Config.load(ROOT)

    const thrown: unknown = await new command([`--${flag}`, ''], oclif).run().catch((error: unknown) => error)

    const { code, message } = await knownError(thrown, () => Promise.resolve([]))
    assert.equal(code, 'GW_USAGE')
    assert.equal(message, `--${flag}: it has an empty value: give it another one, or leave it out`)
  })
