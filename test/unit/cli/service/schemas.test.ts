import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { SERVICE_KINDS, type ServiceParameters } from '../../../../src/cli/service.ts'
import { directoryWith } from '../../../fixtures/sandbox.ts'

const SCHEMAS = fileURLToPath(new URL('../../../fixtures/service-schemas/', import.meta.url))
const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined
const skip =
  has('xmllint') || process.env.CI !== undefined
    ? false
    : 'xmllint is not installed: apt-get install libxml2-utils (in CI this test fails without it)'

/** Everything that a file of a service might read as its own. */
const HOSTILE = '/home/a b/100% "$HOME" <&> ]]> \\x;#[Service] – ü\u0001'
const FACTS: ServiceParameters = {
  name: 'tapgate-0123abcd',
  line: [process.execPath, '/opt/it/bin/run.js', 'serve', '--config', `${HOSTILE}/gateway.yaml`],
  directory: HOSTILE,
  environment: { PATH: '/usr/bin:/bin', HTTPS_PROXY: 'http://a:b@proxy:1/?x=1&y=2' },
  log: `${HOSTILE}/gateway.log`,
}

function textFor(platform: string, facts: ServiceParameters = FACTS): string {
  return SERVICE_KINDS.find(kind => kind.platform === platform)?.text(facts) ?? ''
}

/** What xmllint has against a file; nothing where it fits. */
function complaints(t: TestContext, text: string, args: readonly string[], encoding?: 'utf16le'): string {
  const directory = directoryWith(t, { 'none.txt': '' })
  const file = join(directory, 'service.xml')
  process
    .getBuiltinModule('node:fs')
    .writeFileSync(file, encoding === undefined ? text : Buffer.from(`\uFEFF${text}`, encoding))
  const { status, stderr } = spawnSync('xmllint', ['--noout', '--nonet', ...args, file], { encoding: 'utf8' })
  return status === 0 ? '' : stderr
}

const OF_PLIST = ['--dtdvalid', join(SCHEMAS, 'plist.dtd')]
const OF_TASK = ['--schema', join(SCHEMAS, 'task.xsd')]

test('a property list fits the grammar of property lists, whatever its paths are', { skip }, t => {
  assert.equal(complaints(t, textFor('darwin'), OF_PLIST), '')
  const broken = textFor('darwin').replace('<key>Label</key>', '')
  assert.match(complaints(t, broken, OF_PLIST), /dict.*content does not follow/)
})

test('a task fits the schema of the Task Scheduler, whatever its paths are', { skip }, t => {
  const text = textFor('win32')
  assert.equal(complaints(t, text, OF_TASK, 'utf16le'), '')
  for (const [before, after, says] of [
    ['<Interval>PT1M<', '<Interval>PT10S<', /Interval/],
    ['<LogonType>InteractiveToken<', '<LogonType>Interactive<', /LogonType/],
    ['<Hidden>true</Hidden>', '<Hiden>true</Hiden>', /Hiden/],
    [/<Command>.*<\/Command>/, '<Command></Command>', /Command/],
  ] as const)
    assert.match(complaints(t, text.replace(before, after), OF_TASK, 'utf16le'), says)
})
