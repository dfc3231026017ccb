import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { listLaunchOptions } from '../../../src/cli/servers/launch-options.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'

interface OwnEntry extends JsonObject {
  readonly name: string
  readonly version: string
  readonly packages: JsonObject[]
}

const entry = read<OwnEntry>('server.json')
const manifest = read<{ name: string; version: string; mcpName: string; files: string[] }>('package.json')

function read<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')) as T
}

test('our entry for the registry is as its schema has it, and says what package.json says', () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    read<object>('test/fixtures/schemas/server.schema.json'),
  )

  assert.equal(validate(entry), true, JSON.stringify(validate.errors))
  assert.equal(entry.name, manifest.mcpName)
  assert.equal(entry.version, manifest.version)
  assert.deepEqual(
    entry.packages.map(({ identifier, version }) => [identifier, version]),
    [[manifest.name, manifest.version]],
  )
  assert.ok(manifest.files.includes('server.json'))
})

test('gateway add makes a server of our own entry', () => {
  const [way] = listLaunchOptions(entry.packages, [])
  assert.ok(way !== undefined && 'kind' in way, JSON.stringify(way))
  const [input] = way.inputs
  assert.deepEqual([input?.name, input?.isRequired], ['--config', true])
})
