import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { loadConfig } from '../../../src/config/index.ts'
import { directoryWith } from '../../fixtures/sandbox.ts'

const ON_POSIX = { skip: process.platform === 'win32' }

const CASES: readonly [what: string, upstreams: Readonly<Record<string, object>>, expected: readonly string[]][] = [
  [
    'a program that is not on the PATH of its server',
    {
      fine: { command: 'tool' },
      absent: { command: 'tol', cwd: 'project' },
      own: { command: 'other', env: { PATH: 'own' } },
      lost: { command: 'tool', env: { PATH: 'own' } },
      off: { command: 'tol', enabled: false },
    },
    ['/upstreams/absent/command tol not found on PATH', '/upstreams/lost/command tool not found on PATH'],
  ],
  [
    'a command, a directory or a script that does not exist',
    {
      fine: { command: 'node', args: ['server.mjs'] },
      command: { command: './no/such/program' },
      blank: { command: '/no/such dir/program' },
      place: { command: 'node', args: ['server.mjs'], cwd: './absent' },
      script: { command: 'node', args: ['./sever.mjs'] },
      off: { command: './no/such', enabled: false },
      project: { command: 'node', args: ['x.js'], cwd: 'project' },
    },
    [
      '/upstreams/blank/command /no/such dir/program does not exist',
      '/upstreams/command/command ./no/such/program does not exist',
      '/upstreams/place/cwd ./absent does not exist',
      '/upstreams/script/args/0 ./sever.mjs does not exist',
    ],
  ],
]

for (const [what, servers, expected] of CASES)
  it(`${what} is a warning at its place`, ON_POSIX, async t => {
    const upstreams = Object.fromEntries(
      Object.entries(servers).map(([name, spec]) => [name, { type: 'stdio', ...spec }]),
    )
    const config = { version: 1, listeners: { main: { type: 'stdio' } }, upstreams }
    const files = {
      'bin/tool': '',
      'bin/node': '',
      'own/other': '',
      'server.mjs': '',
      'gateway.yaml': JSON.stringify(config),
    }
    const cwd = directoryWith(t, files)

    const { warnings } = await loadConfig({ cwd, environment: { PATH: `/nowhere:${join(cwd, 'bin')}` } })

    assert.deepEqual(warnings.map(({ pointer, message }) => `${pointer} ${message}`).sort(), expected)
  })
