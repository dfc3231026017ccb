import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { atTerminal, noTerminal } from '../../fixtures/terminal.ts'
import { directory } from '../cli/run.ts'

const CONFIG = '# Mine.\nversion: 1\nupstreams: {} # none yet\n'
const SERVERS = JSON.stringify({
  servers: [
    {
      server: {
        name: 'io.github.acme/notes',
        description: 'Notes',
        version: '1.0.0',
        packages: [
          {
            registryType: 'npm',
            identifier: '@acme/notes',
            version: '1.0.0',
            transport: { type: 'stdio' },
            environmentVariables: [
              { name: 'NOTES_TOKEN', description: 'Your token', isRequired: true, isSecret: true },
              { name: 'NOTES_MODE', isRequired: true, choices: ['fast', 'slow'] },
            ],
          },
        ],
      },
    },
  ],
})
const ADD = ['add', 'io.github.acme/notes', '--registry', 'servers.json', '--no-start', '--no-sandbox']

test(
  'what a server requires is asked for, again where it cannot be, and then whether to write',
  { skip: noTerminal },
  async t => {
    const cwd = await directory(t, { 'gateway.yaml': CONFIG, 'servers.json': SERVERS })
    const screen = atTerminal(t, ADD, { cwd })
    await screen.shows(/NOTES_TOKEN \(Your token\): /)
    screen.type('')
    await screen.shows(/(NOTES_TOKEN \(Your token\): [^]*){2}/)
    screen.type('hunter2-hunter2')
    await screen.shows(/NOTES_MODE \(one of fast, slow\): /)
    screen.type('medium')
    await screen.shows(/(NOTES_MODE \(one of fast, slow\): [^]*){2}/)
    screen.type('slow')
    await screen.shows(/Write this\? \[y\/N\] /)
    screen.type('y')

    assert.equal(await screen.exit, 0, screen.shown())
    const text = readFileSync(join(cwd, 'gateway.yaml'), 'utf8')
    assert.match(text, /^# Mine\.[^]*NOTES_TOKEN: "?\$\{file:\.\/secrets\/notes-env-notes_token\}[^]*NOTES_MODE: slow/)
    const secret = join(cwd, 'secrets/notes-env-notes_token')
    assert.equal(readFileSync(secret, 'utf8'), 'hunter2-hunter2')
    assert.equal(statSync(secret).mode & 0o777, 0o600)
    assert.match(screen.shown(), /undo: .*gateway remove notes|gateway remove notes/)
  },
)

test('whoever leaves at a question for a value has written nothing', { skip: noTerminal }, async t => {
  for (const key of ['\u0003', '\u0004']) {
    const cwd = await directory(t, { 'gateway.yaml': CONFIG, 'servers.json': SERVERS })
    const screen = atTerminal(t, ADD, { cwd })
    await screen.shows(/NOTES_TOKEN \(Your token\): /)
    screen.press(key)

    assert.equal(await screen.exit, 9, screen.shown())
    assert.equal(readFileSync(join(cwd, 'gateway.yaml'), 'utf8'), CONFIG)
    assert.doesNotMatch(screen.shown(), /GW_INTERNAL| {4}at /)
  }
})
