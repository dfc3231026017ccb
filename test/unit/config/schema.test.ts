import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { builtins } from '../../../src/gateway/builtins.ts'

type Part = Readonly<Record<string, unknown>>
const text = readFileSync(new URL('../../../schemas/gateway.json', import.meta.url), 'utf8')
const schema = JSON.parse(text) as { properties: Record<string, Part>; $defs: Record<string, Part> }

test('documents that are generated are up to date', () => {
  const script = fileURLToPath(new URL('../../../scripts/docs.ts', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })

  assert.equal(status, 0, stderr)
})

interface OwnSchema {
  readonly sections?: Part
  readonly upstreams?: Part
  readonly upstreamTypes?: readonly string[]
  readonly $defs?: Readonly<Record<string, Part>>
}

test('each plugin claims the section and the upstream keys that its own schema describes', () => {
  for (const { name, claims = {} } of builtins.filter(plugin => !/^(listen|call)-/.test(plugin.name))) {
    const file = new URL(`../../../plugins/${name}/schema.json`, import.meta.url)
    const own = JSON.parse(existsSync(file) ? readFileSync(file, 'utf8') : '{}') as OwnSchema

    assert.deepEqual(Object.keys(own.sections ?? {}), claims.section === undefined ? [] : [claims.section], name)
    assert.deepEqual(upstreamKeys(own), claims.upstream ?? [], name)
  }
})

/** Keys of a plugin in upstreams; of a type of its own, the keys that each of them must have. */
function upstreamKeys({ upstreams = {}, upstreamTypes = [], $defs = {} }: OwnSchema): readonly string[] {
  const keys = Object.values(upstreams).flatMap(part => Object.keys(part as Part))
  const required = upstreamTypes.flatMap(type => ($defs[type]?.required ?? []) as string[])
  return [...new Set([...keys, ...required.filter(key => key !== 'type')])]
}

test('an editor needs nothing but the schema itself', () => {
  const references = [...text.matchAll(/"\$ref": "([^"]+)"/g)].map(match => match[1] ?? '')
  const known = Object.keys(schema.$defs).map(name => `#/$defs/${name}`)

  assert.deepEqual(
    references.filter(reference => !known.includes(reference)),
    [],
  )
})

test('every key has a description and an example that the schema accepts', () => {
  // discriminator is for our own validator; editors go by oneOf alone, and so does this.
  const ajv = new Ajv({ strict: false, allErrors: true })
  ajv.addSchema(schema, 'gateway')
  const maps = [['', schema], ...Object.entries(schema.$defs).map(([name, part]) => [`/$defs/${name}`, part])] as [
    string,
    Part,
  ][]

  for (const [at, part] of maps) {
    for (const [key, property] of Object.entries((part.properties ?? {}) as Record<string, Part>)) {
      const where = `${at}/properties/${key}`
      const full = { ...followed(property), ...property }
      assert.equal(typeof full.description, 'string', `${where} has no description`)
      const check = ajv.getSchema(`gateway#${where.replaceAll('$', '$')}`)
      for (const example of full.examples as unknown[])
        assert.ok(check?.(example), `${where}: ${JSON.stringify(example)}`)
    }
  }
})

test('no map takes keys it does not know', () => {
  for (const [name, part] of Object.entries(schema.$defs)) {
    if (part.properties !== undefined) assert.equal(part.additionalProperties, false, name)
  }
})

function followed(part: Part): Part {
  const name = typeof part.$ref === 'string' ? part.$ref.replace('#/$defs/', '') : undefined
  const target = name === undefined ? undefined : schema.$defs[name]
  return target === undefined ? part : { ...followed(target), ...target }
}
