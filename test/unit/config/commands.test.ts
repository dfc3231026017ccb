import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeOrigins, type LoadedConfig, redact } from '../../../src/config/index.ts'
import { loadConfig } from '../../../src/gateway/load-config.ts'
import { directoryWith, linesOf, load, problemsOf } from './temp.ts'
import { until } from '../../fixtures/until.ts'

const LISTENERS = 'listeners: { pipe: { type: stdio } }\n'

/** Prints its arguments, and notes that it ran. */
const PRINTS = `#!/bin/sh
echo run >> "$0.runs"
printf '<%s>' "$@"
echo
`

/** A configuration with these headers. */
function headed(headers: Readonly<Record<string, string>>, more = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `      ${name}: ${JSON.stringify(value)}\n`)
  return `${LISTENERS}${more}upstreams:\n  web:\n    type: http\n    url: https://example.com\n    headers:\n${lines.join('')}`
}

function headersOf({ config }: LoadedConfig): Readonly<Record<string, string>> {
  return (config.upstreams.web as { headers: Record<string, string> }).headers
}

test('a command is split into words without a shell, and what a placeholder stands for is never split', async t => {
  const cases = {
    A: ['${exec:sh ./prints.sh a b  c}', '<a><b><c>'],
    C: ['${exec:sh ./prints.sh ${WORDS} x${WORDS}}', '<a b; touch owned><xa b; touch owned>'],
    D: ['${exec:sh ./prints.sh $(touch owned) ; `touch owned` | touch owned > owned}', undefined],
    E: ['Bearer ${exec:sh ./prints.sh ok}', 'Bearer <ok>'],
    F: ['${NONE:-${exec:sh ./prints.sh default}}', '<default>'],
  } as const
  const cwd = directoryWith(t, {
    'gateway.yaml': headed(Object.fromEntries(Object.entries(cases).map(([name, [text]]) => [name, text]))),
    'prints.sh': PRINTS,
  })
  const environment = { HOME: cwd, PATH: process.env.PATH, WORDS: 'a b; touch owned' }
  const headers = headersOf(await loadConfig({ cwd, environment }))

  for (const [name, [, expected]] of Object.entries(cases))
    if (expected !== undefined) assert.equal(headers[name], expected, name)
  assert.equal(existsSync(join(cwd, 'owned')), false)
})

test('a command runs once for each load, in the directory of its file, and its value is a secret', async t => {
  const cwd = directoryWith(t, {
    'gateway.yaml': 'extends: conf/base.yaml\n',
    'conf/base.yaml': headed({ A: '${exec:sh ./prints.sh pearl}', B: 'Bearer ${exec:sh ./prints.sh pearl}' }),
    'conf/prints.sh': PRINTS,
  })
  const loaded = await loadConfig({ cwd, environment: { HOME: cwd, PATH: process.env.PATH } })

  assert.deepEqual(headersOf(loaded), { A: '<pearl>', B: 'Bearer <pearl>' })
  assert.equal(readFileSync(join(cwd, 'conf/prints.sh.runs'), 'utf8'), 'run\n')
  assert.ok(loaded.secrets.includes('<pearl>'))
  const shown = JSON.stringify([redact(loaded.config, loaded.secrets), describeOrigins(loaded, cwd)])
  assert.doesNotMatch(shown, /<pearl>/)
  assert.match(shown, /conf\/base\.yaml:7:10"/)

  // A reload runs it again, and so has a value that was changed.
  writeFileSync(join(cwd, 'conf/prints.sh'), 'echo another')
  const again = await loadConfig({ cwd, environment: { HOME: cwd, PATH: process.env.PATH } })
  assert.equal(headersOf(again).A, 'another')
})

test('what goes wrong with a command is said at its place, and never what it printed', async t => {
  const many = Array.from({ length: 70_000 }, () => 'x').join('')
  const lines = await linesOf(
    t,
    {
      'gateway.yaml': headed({
        A: '${exec:no-such-program-here}',
        B: '${exec:sh fails.sh}',
        C: '${exec:true}',
        D: '${exec:}',
        E: '${exec:sh "x y"}',
        F: '${exec:echo ${exec:echo a}}',
        G: '${exec:cat many}',
        H: '${exec:sh binary.sh}',
        I: '${keyring:}',
      }),
      'fails.sh': 'echo hushed; echo "not signed in" >&2; exit 3',
      'binary.sh': "printf '\\377\\376'",
      many,
    },
    { environment: { PATH: process.env.PATH } },
  )

  const said = lines.map(line => line.replace(/ – (write|let|name|put) .*/, ''))
  assert.deepEqual(said, [
    'gateway.yaml:7:10 /upstreams/web/headers/A no-such-program-here cannot run: program not found',
    'gateway.yaml:8:10 /upstreams/web/headers/B sh failed with exit code 3: not signed in',
    'gateway.yaml:9:10 /upstreams/web/headers/C true printed nothing',
    'gateway.yaml:10:10 /upstreams/web/headers/D ${exec:} is empty',
    'gateway.yaml:11:10 /upstreams/web/headers/E quotes are not supported, as the command is split at spaces – use a script',
    'gateway.yaml:12:10 /upstreams/web/headers/F commands cannot be nested',
    'gateway.yaml:13:10 /upstreams/web/headers/G cat printed more than 65536 bytes',
    'gateway.yaml:14:10 /upstreams/web/headers/H sh printed invalid UTF-8',
    'gateway.yaml:15:10 /upstreams/web/headers/I ${keyring:} is empty',
  ])
})

test('a command that does not end is ended with all it started, and stops nothing else', async t => {
  const cwd = directoryWith(t, {
    'gateway.yaml': headed({ A: '${exec:sh hangs.sh}', B: '${exec:sh leaves.sh}' }),
    'hangs.sh': 'sleep 600 & echo $! > hangs.pid; wait',
    'leaves.sh': 'sleep 600 >/dev/null 2>&1 & echo $! > leaves.pid; echo ok-here',
  })
  const [problem] = await problemsOf(loadConfig({ cwd, environment: { PATH: process.env.PATH } }))

  assert.match(problem?.message ?? '', /sh timed out after 5 s/)
  for (const name of ['hangs', 'leaves']) {
    const pid = Number(readFileSync(join(cwd, `${name}.pid`), 'utf8'))
    await until(() => !isRunning(pid))
  }
})

test("the keyring is a command of one's own: with the name in it, or behind it", async t => {
  for (const [keyring, expected] of [
    ['[sh, ./prints.sh, get]', '<get><git hub;x>'],
    ['[sh, ./prints.sh, "-n={name}", -w]', '<-n=git hub;x><-w>'],
  ] as const) {
    const loaded = await load(
      t,
      {
        'gateway.yaml': headed({ A: '${keyring:git hub;x}' }, `secrets: { keyring: ${keyring} }\n`),
        'prints.sh': PRINTS,
      },
      { environment: { PATH: process.env.PATH } },
    )
    assert.equal(headersOf(loaded).A, expected)
    assert.ok(loaded.secrets.includes(expected))
  }
})

test('no command of a file runs that others can write', { skip: process.platform === 'win32' }, async t => {
  const cwd = directoryWith(t, { 'gateway.yaml': headed({ A: '${exec:touch owned}' }) })
  chmodSync(join(cwd, 'gateway.yaml'), 0o666)
  for (const commands of ['run', 'leave'] as const) {
    await assert.rejects(loadConfig({ cwd, environment: { PATH: process.env.PATH }, commands }), {
      code: 'GW_CONFIG_UNTRUSTED',
    })
  }
  assert.equal(existsSync(join(cwd, 'owned')), false)
})

test('who only looks at a configuration runs none of its commands', async t => {
  const cwd = directoryWith(t, {
    'gateway.yaml': headed({ A: '${exec:sh ./prints.sh a}', B: '${keyring:a}' }),
    'prints.sh': PRINTS,
  })
  const environment = { HOME: cwd, PATH: process.env.PATH }
  const loaded = await loadConfig({ cwd, environment, commands: 'leave' })

  assert.deepEqual(headersOf(loaded), { A: 'not-run', B: 'not-run' })
  assert.equal(existsSync(join(cwd, 'prints.sh.runs')), false)
})

function isRunning(pid: number): boolean {
  try {
    // A zombie waits for its parent, and runs nothing.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
