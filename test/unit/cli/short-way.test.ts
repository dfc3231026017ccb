import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { readFlags, SHORT_FLAGS } from '../../../src/cli/fast-start.ts'

const read = (...args: string[]) => readFlags(args, SHORT_FLAGS.serve)

test('flags of the short way are those of the commands', () => {
  for (const [id, options] of Object.entries(SHORT_FLAGS)) {
    const { flags = {} } = COMMANDS[id] ?? {}
    const those = Object.entries(flags).map(([name, flag]) => {
      const several = flag.type === 'option' && flag.multiple === true
      const type = flag.type === 'boolean' ? 'boolean' : 'string'
      return [
        name,
        { type, ...(flag.char && { short: flag.char }), ...(several && { multiple: true }) },
      ] as const
    })
    const known = those.filter(([name]) => name in options)

    assert.deepEqual(Object.fromEntries(known), { ...options }, id)
  }
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
