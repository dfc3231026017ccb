import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Log } from 'sarif'
import { runCommand } from '../../fixtures/run-command.ts'
import { directoryWith } from '../config/temp.ts'

const BROKEN =
  'version: 1\nlisteners: { pipe: { type: stdio } }\nupstreams:\n  a: { type: stdio, comand: "x<&>\\u0007" }\n'
const DOUBTFUL = 'version: 1\nupstreams:\n  a: { type: stdio, command: node }\n'

const validate = (cwd: string, format: string) => runCommand(['validate', '--format', format], { cwd })

test('SARIF has the file, line and column of each problem, relative to the directory', async t => {
  const { code, stdout } = await validate(directoryWith(t, { 'gateway.yaml': BROKEN }), 'sarif')
  const { version, runs } = JSON.parse(stdout) as Log
  const results = runs.flatMap(({ results = [] }) => results)
  const rules = runs.flatMap(({ tool }) => tool.driver.rules?.map(({ id }) => id) ?? [])

  assert.equal(code, 3)
  assert.equal(version, '2.1.0')
  assert.deepEqual(
    results.map(({ ruleId = '' }) => rules.includes(ruleId)),
    results.map(() => true),
  )
  assert.deepEqual(results.find(({ message }) => message.text?.includes('comand'))?.locations, [
    {
      physicalLocation: {
        artifactLocation: { uri: 'gateway.yaml' },
        region: { startLine: 4, startColumn: 21 },
      },
    },
  ])
})

test('annotations for GitHub are one line per problem', async t => {
  const cwd = directoryWith(t, { 'gateway.yaml': BROKEN, 'plugin.mjs': 'throw new Error("a,b:\\n100%")' })
  const problems = await validate(cwd, 'github')
  writeFileSync(join(cwd, 'gateway.yaml'), `${DOUBTFUL}plugins: { own: { use: ./plugin.mjs } }\n`)
  const thrown = await validate(cwd, 'github')

  for (const line of problems.stdout.trimEnd().split('\n'))
    assert.match(line, /^::(error|warning) file=gateway\.yaml,line=\d+,col=\d+,title=[\w-]+::./)
  assert.match(thrown.stdout, /^::error .*100%25/m)
})

test('a JUnit report fails for errors only, and is XML whatever the text is', async t => {
  const cwd = directoryWith(t, { 'gateway.yaml': BROKEN })
  const broken = await validate(cwd, 'junit')
  writeFileSync(join(cwd, 'gateway.yaml'), DOUBTFUL)
  const doubtful = await validate(cwd, 'junit')
  writeFileSync(join(cwd, 'gateway.yaml'), `${DOUBTFUL}listeners: { pipe: { type: stdio } }\n`)
  const fine = await validate(cwd, 'junit')

  assert.equal(doubtful.code, 0)
  assert.match(broken.stdout, /failures="[1-9]\d*"/)
  assert.match(doubtful.stdout, /tests="1" failures="0"[^]*no listeners/)
  assert.match(fine.stdout, /tests="1" failures="0"[^]*no problems/)
  for (const { stdout } of [broken, doubtful, fine]) {
    const { status, error } = spawnSync('xmllint', ['--noout', '-'], { input: stdout })
    assert.ok(error !== undefined && process.env.CI === undefined ? true : status === 0)
  }
})

test('--format json is --json, and an unknown format is wrong usage', async t => {
  const cwd = directoryWith(t, { 'gateway.yaml': DOUBTFUL })
  const [json, same, unknown] = [
    await validate(cwd, 'json'),
    await runCommand(['validate', '--json'], { cwd }),
    await validate(cwd, 'xml'),
  ]

  assert.equal(json.stdout, same.stdout)
  assert.equal(unknown.code, 2)
})

test('a plan is written as notes, with its own exit code', async t => {
  const cwd = directoryWith(t, {
    'gateway.yaml': 'version: 1\nupstreams: {}\n',
    'old.yaml': 'version: 1\nupstreams: {}\nrateLimit: { rules: { all: { perMinute: 5 } } }\n',
  })
  const { code, stdout } = await runCommand(
    ['plan', '--against', 'old.yaml', '--format', 'github', '-c', 'gateway.yaml'],
    { cwd },
  )

  assert.equal(code, 6)
  assert.match(stdout, /^::notice file=gateway\.yaml,title=plan-change::~ setting rateLimit/m)
})

test('gateway scan reports the findings of gateway doctor, as SARIF too', async t => {
  const cwd = directoryWith(t, { 'gateway.yaml': BROKEN })
  const scan = await runCommand(['scan', '--format', 'sarif'], { cwd })
  const doctor = await runCommand(['doctor', '--format', 'sarif'], { cwd })

  assert.equal(scan.code, 6)
  assert.match(scan.stdout, /config-invalid[^]*"startLine": 4,\s+"startColumn": 21/)
  assert.equal(scan.stdout, doctor.stdout)
})
