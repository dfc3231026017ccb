import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { loadConfig } from '../../../src/config/index.ts'
import { directoryWith } from '../../fixtures/sandbox.ts'

const ON_POSIX = { skip: process.platform === 'win32' }

it('a program that is not on the PATH of its server is a warning at its place', ON_POSIX, async t => {
  const cwd = directoryWith(t, {
    'bin/tool': '',
    'own/other': '',
    'gateway.yaml': JSON.stringify({
      version: 1,
      listeners: { main: { type: 'stdio' } },
      upstreams: {
        fine: { type: 'stdio', command: 'tool' },
        absent: { type: 'stdio', command: 'tol', cwd: 'project' },
        own: { type: 'stdio', command: 'other', env: { PATH: 'own' } },
        lost: { type: 'stdio', command: 'tool', env: { PATH: 'own' } },
        off: { type: 'stdio', command: 'tol', enabled: false },
      },
    }),
  })

  const { warnings } = await loadConfig({ cwd, environment: { PATH: `/nowhere:${join(cwd, 'bin')}` } })

  assert.deepEqual(warnings.map(({ pointer, message }) => `${pointer} ${message}`).sort(), [
    '/upstreams/absent/command tol not found on PATH',
    '/upstreams/lost/command tool not found on PATH',
  ])
})

it('a command, a directory or a script that does not exist is a warning at its place', ON_POSIX, async t => {
  const cwd = directoryWith(t, {
    'server.mjs': '',
    'gateway.yaml': JSON.stringify({
      version: 1,
      listeners: { main: { type: 'stdio' } },
      upstreams: {
        fine: { type: 'stdio', command: 'node', args: ['server.mjs'] },
        command: { type: 'stdio', command: './no/such/program' },
        blank: { type: 'stdio', command: '/no/such dir/program' },
        place: { type: 'stdio', command: 'node', args: ['server.mjs'], cwd: './absent' },
        script: { type: 'stdio', command: 'node', args: ['./sever.mjs'] },
        off: { type: 'stdio', command: './no/such', enabled: false },
        project: { type: 'stdio', command: 'node', args: ['x.js'], cwd: 'project' },
      },
    }),
  })

  const { warnings } = await loadConfig({ cwd, environment: {} })

  assert.deepEqual(warnings.map(({ pointer, message }) => `${pointer} ${message}`).sort(), [
    '/upstreams/blank/command /no/such dir/program does not exist',
    '/upstreams/command/command ./no/such/program does not exist',
    '/upstreams/place/cwd ./absent does not exist',
    '/upstreams/script/args/0 ./sever.mjs does not exist',
  ])
})
