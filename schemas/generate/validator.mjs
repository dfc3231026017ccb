import { Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'

const HEADER = '// @ts-nocheck\n// Generated from schemas/gateway.json by `npm run gen`. Do not edit.\n'

/** A validator that needs neither ajv nor a compiler at run time. */
export function validator(schema) {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    useDefaults: true,
    discriminator: true,
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
    // Lengths in UTF-16 units need no helper; the option is deprecated, hence the silence.
    unicode: false,
    logger: false,
    messages: false,
    code: { source: true, esm: true, lines: true },
  })
  ajv.addVocabulary(['x-secret', 'x-says', 'x-globs', 'x-private'])
  const code = standalone.default(ajv, ajv.compile(schema))
  if (/\brequire\(|\bimport\b/.test(code))
    throw new Error('the validator needs a helper of ajv at run time; inline it')
  return `${HEADER}${code.replace('"use strict";', '').replace(SCHEMA, shorten)}\n`
}

const SCHEMA = /^(const schema\d+ = )(\{.*\});$/gm

/** The schemas that the validator quotes, without what no message quotes: they are loaded with every start. */
function shorten(_line, start, schema) {
  return `${start}${JSON.stringify(quotable(JSON.parse(schema)))};`
}

function quotable(schema) {
  if (Array.isArray(schema)) return schema.map(quotable)
  if (schema === null || typeof schema !== 'object') return schema
  const { $defs, $schema, title, description, examples, default: _, properties, ...rest } = schema
  const kept = Object.entries(rest).map(([key, value]) => [key, quotable(value)])
  if (properties === undefined) return Object.fromEntries(kept)
  const required = schema.required ?? []
  const named = Object.entries(properties).map(([name, property]) => [
    name,
    required.includes(name) && property.description !== undefined
      ? { description: property.description, ...quotable(property) }
      : quotable(property),
  ])
  return Object.fromEntries([...kept, ['properties', Object.fromEntries(named)]])
}
