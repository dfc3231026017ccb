import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fastFlags } from '../../../scripts/fast-flags.ts'
import { FAST_FLAGS } from '../../../src/cli/fast-flags.gen.ts'
import { readFlags } from '../../../src/cli/read-flags.ts'

const read = (...args: string[]) => readFlags(args, FAST_FLAGS.serve)

test('the table of the short way is made of the flags of the commands', () => {
  const present = readFileSync(new URL('../../../src/cli/fast-flags.gen.ts', import.meta.url), 'utf8')

  assert.equal(present, fastFlags(), 'stale – run npm run gen')
})

test('plain flags are read, however they are written', () => {
  assert.deepEqual(
    { ...read('--stdio', '-c', 'a.yaml', '--env=production', '--set', 'a=b', '--set=c=d=e', '--watch') },
    { stdio: true, config: 'a.yaml', env: 'production', set: ['a=b', 'c=d=e'], watch: true },
  )
  assert.deepEqual({ ...read() }, {})
})

test('what may be a mistake, or a wish for help, is left to those who know what to say', () => {
  const others = [
    ['--help'],
    ['-h'],
    ['--stdoi'],
    ['--no-stdio'],
    ['--stdio=true'],
    ['--config'],
    ['--config='],
    ['--config', '--stdio'],
    ['--config', 'a.yaml', '-c', 'b.yaml'],
    ['-ca.yaml'],
    ['-c=a.yaml'],
    ['--', '--stdio'],
    ['a.yaml'],
    ['--stdio', '--stdio'],
  ]

  for (const args of others) assert.equal(read(...args), undefined, args.join(' '))
})
