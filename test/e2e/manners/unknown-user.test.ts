import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { skip } from '../../fixtures/sandbox.ts'
import { LAUNCHER } from '../../peers/gateway.ts'

test('commands work for a user without a line in /etc/passwd, a shell or a home, as in a container', { skip }, () => {
  const places = ['--ro-bind', '/', '/', '--ro-bind', '/dev/null', '/etc/passwd', '--dev', '/dev', '--proc', '/proc']
  const user = ['--unshare-user', '--uid', '54321', '--gid', '54321']
  for (const words of [['--help'], ['errors', 'GW_USAGE'], ['key', 'new', '--name', 'ci', '--json']]) {
    const ran = spawnSync('bwrap', [...places, ...user, process.execPath, LAUNCHER, ...words], {
      env: { PATH: process.env.PATH },
      encoding: 'utf8',
    })
    assert.equal(ran.status, 0, `${words.join(' ')}: ${ran.stderr}`)
  }
})
