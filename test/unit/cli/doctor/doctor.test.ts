import assert from 'node:assert/strict'
import { chmod, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT_CODES, examine, runDoctor } from '../../../../src/cli/doctor/doctor.ts'
import { DOCTOR_FINDINGS } from '../../../../src/cli/doctor/doctor-findings.ts'
import { mergeFindingTables } from '../../../../src/gateway/builtins.ts'
import { LAUNCHER } from '../../../peers/gateway.ts'
import { connected, FAULTS } from './faults.ts'
import { lab, type Lab } from './lab.ts'

const found = ({ terminal, file }: Lab, code: string) =>
  examine({ config: file }, terminal).then(({ findings }) => findings.find(finding => finding.code === code))
const flags = { fix: false, json: true }

test('of a sound configuration nothing is said but that no gateway is running', async t => {
  const well = await lab(t)
  const { level, findings } = await examine({}, well.terminal)
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['not-running'],
  )
  assert.equal(EXIT_CODES[level], 0)
})

for (const { code, names, prepare, cure } of FAULTS)
  test(`${code}: it is named, and what the finding says mends it`, async t => {
    const ill = await lab(t)
    await prepare(ill, t)

    const finding = await found(ill, code)
    assert.ok(finding, `${code} is not found`)
    assert.match(finding.summary, names)
    assert.equal(finding.level, DOCTOR_FINDINGS[code as keyof typeof DOCTOR_FINDINGS].level)
    assert.ok(finding.fix.length > 5, 'it says what to do')
    assert.doesNotMatch(`${finding.summary} ${finding.fix}`, /(?<!\$)\{\w+\}/)
    assert.equal(finding.repair !== undefined, cure === 'fix')

    if (cure === 'fix') await runDoctor({ ...flags, config: ill.file, fix: true }, ill.terminal)
    else await cure(ill)
    assert.equal(await found(ill, code), undefined, 'it is mended')
  })

test('a variable that names a file is no secret: a configuration with it may be read', async t => {
  const well = await lab(t)
  const server = (variables: string): string =>
    `  files: { type: stdio, command: node, args: [server.mjs], env: { ${variables} } }`
  await well.config(server(`MEMORY_FILE_PATH: ${join(well.home, 'memory.json')}`))
  await chmod(well.file, 0o644)
  assert.equal(await found(well, 'secret-readable'), undefined)

  await well.config(server('MEMORY_FILE_PATH: ../../../../memory.jsonl'))
  await chmod(well.file, 0o644)
  assert.equal(await found(well, 'secret-readable'), undefined, 'a server counts it from its own folder')

  await well.config(server('LONG_VALUE: /wJalrXUtnFEMI/K7MDENG'))
  await chmod(well.file, 0o644)
  assert.ok(await found(well, 'secret-readable'), 'what only looks like a path may be a key')
})

test('a server of a client is known by what its name becomes here; the entry of the gateway, and what is off, are none', async t => {
  const SERVER = '{ type: stdio, command: node, args: [server.mjs] }'
  const names = ['my-files', 'gateway', 'off', 'disabled', 'memory']
  const settings = {
    mcpServers: {
      'My Files': { command: 'x' },
      memory: { command: 'x' },
      Off: { command: 'x', enabled: false },
      disabled: { command: 'x', disabled: true },
      other: { command: 'x' },
    },
  }
  const ill = await lab(t)
  await ill.config(names.map(name => `  ${name}: ${SERVER}`).join('\n'))
  await ill.write('.cursor/mcp.json', JSON.stringify(settings))
  await connected(ill, 'cursor', [process.execPath, LAUNCHER, 'attach', '-c', ill.file])
  const finding = await found(ill, 'client-own-servers')
  assert.match(finding?.summary ?? '', /^Cursor also starts My Files \(here my-files\), memory itself/)
})

test('settings of clients are never written by looking, and links and others stay as they are with --fix', async t => {
  const ill = await lab(t)
  await ill.write('.cursor/mcp.json', '{ broken')
  await ill.write('real.json', '{"mcpServers":{"gateway":{"command":"/gone"}}}')
  await ill.write('.gemini/oauth', '')
  await symlink(join(ill.home, 'real.json'), join(ill.home, '.gemini/settings.json'))
  await runDoctor({ ...flags, fix: true }, ill.terminal)

  assert.equal(await readFile(join(ill.home, '.cursor/mcp.json'), 'utf8'), '{ broken')
  assert.match(await readFile(join(ill.home, 'real.json'), 'utf8'), /\/gone/)
})

test('secrets of the configuration are in nothing that it prints', async t => {
  const ill = await lab(t)
  await ill.config(
    '  files: { type: http, url: "http://127.0.0.1:9/mcp", headers: { Authorization: "Bearer abcdefghijkl" } }',
  )
  await chmod(ill.file, 0o644)
  await runDoctor({ ...flags, json: false }, ill.terminal)
  assert.doesNotMatch(ill.terminal.printed.join('\n'), /abcdefghijkl/)
})

test('a code belongs to one table only', () => {
  const others = Object.keys(mergeFindingTables())
  assert.deepEqual(
    Object.keys(DOCTOR_FINDINGS).filter(code => others.includes(code)),
    [],
  )
})
