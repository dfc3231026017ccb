import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { LAUNCHER, requireBuild } from '../../peers/gateway.ts'
import { directory } from '../cli/run.ts'

const hasDisk = spawnSync('bwrap', ['--version']).status === 0
const skip = hasDisk || process.env.CI !== undefined ? false : 'bwrap is not here, which makes the small disk'
const CONFIG = '# Mine.\nversion: 1\nupstreams:\n  first: { type: stdio, command: node }\n'
/** Fills the disk, runs the command, and says how that went and what is there. */
const SCRIPT = `
cp gateway.yaml /mnt/gateway.yaml; chmod 640 /mnt/gateway.yaml
head -c "$1" /dev/zero > /mnt/ballast 2>/dev/null
shift
"$@" ; echo "code $?"
rm -f /mnt/ballast; ls -A /mnt /mnt/secrets 2>/dev/null; cat /mnt/gateway.yaml
`

test('a disk that is full leaves the configuration whole, and nothing half-written beside it', { skip }, async t => {
  requireBuild()
  const cwd = await directory(t, { 'gateway.yaml': CONFIG })
  const add = ['add', '-c', '/mnt/gateway.yaml', '--name', 'next', '--no-start', '--yes', '--json']
  const secret = ['--env-var', `API_TOKEN=${'x'.repeat(20_000)}`]
  // Full to the last byte; with room for the draft alone; and with room for draft and secret, but not for what comes then.
  for (const ballast of [2 ** 20, 2 ** 20 - 2 * 4096, 2 ** 20 - 8 * 4096]) {
    const { stdout } = await promisify(execFile)(
      'bwrap',
      [
        ...['--bind', '/', '/', '--dev-bind', '/dev', '/dev', '--size', String(2 ** 20), '--tmpfs', '/mnt'],
        ...['--chdir', cwd, '--die-with-parent', 'sh', '-c', SCRIPT, 'sh', String(ballast)],
        ...[process.execPath, LAUNCHER, ...add, ...secret, '--', 'node', `${'long'.repeat(3000)}.js`],
      ],
      { env: { ...process.env, HOME: cwd, XDG_STATE_HOME: join(cwd, 'state') } },
    )
    const [said = '', after = ''] = stdout.split(/code \d+\n/)

    assert.match(stdout, /code 2\n/, stdout.slice(0, 500))
    const { error } = JSON.parse(said) as { error: { code: string; message: string } }
    assert.match(error.message, /gateway\.yaml was not changed: .*(ENOSPC|no space)/i)
    const files = after.slice(0, after.indexOf('# Mine.')).split(/\s+/).filter(Boolean)
    assert.deepEqual(
      files.filter(name => !/^(gateway\.yaml|secrets|\/mnt.*:)$/.test(name)),
      [],
    )
    assert.ok(after.endsWith(readFileSync(join(cwd, 'gateway.yaml'), 'utf8')), after)
  }
})
