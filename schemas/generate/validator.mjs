import { Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import { resolve } from './walk.mjs'

const HEADER =
  '// @ts-nocheck\n// Generated from schemas/base.json and plugins/*/schema.json by `npm run gen`. Do not edit.\n'

/** A validator that needs neither ajv nor a compiler at run time. */
export function validator(schema) {
  const ajv = new Ajv({
    allErrors: true,
    // One function for each definition, whoever refers to it; messages look up what they quote.
    inlineRefs: false,
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
  ajv.addVocabulary(['x-secret', 'x-expects', 'x-globs', 'x-private', 'x-principals', 'x-tools', 'x-seen', 'x-adds'])
  const validate = ajv.compile(shared(schema))
  const code = fromTheTop(standalone.default(ajv, validate), validate.schemaEnv.root.refs)
  if (/\brequire\(|\bimport\b/.test(code)) throw new Error('the validator needs a helper of ajv at run time; inline it')
  const quoted = JSON.stringify(JSON.stringify({ ...quotable(shared(schema)), $defs: quotable(shared(schema).$defs) }))
  return `${HEADER}${withoutUnused(code.replace('"use strict";', ''))}\n/** What messages quote of the schema. */\nexport const SCHEMA = ${quoted}\n`
}

/** The code with paths of the whole schema: a function of its own, as a definition has, counts from there. */
function fromTheTop(code, refs) {
  const places = new Map(Object.entries(refs).map(([ref, env]) => [String(env.validateName), ref]))
  return code
    .split(/^(?=function validate)/m)
    .map(part => {
      const place = places.get(/^function (\w+)/.exec(part)?.[1])
      return place === undefined ? part : part.replaceAll('schemaPath:"#/', `schemaPath:"${place}/`)
    })
    .join('')
}

/** The code without the schemas that nothing in it reads; of those that are read only the values are. */
function withoutUnused(code) {
  return code.replace(/^const (schema\d+) = (\{.*\});\n/gm, (_line, name, text) => {
    const isUsed = code.split(new RegExp(`\\b${name}\\b`)).length > 2
    return isUsed ? `const ${name} = ${JSON.stringify(quotable(JSON.parse(text)))};\n` : ''
  })
}

/** The schema with what all types of upstream have alike as one definition each, so that it is one function. */
function shared(schema) {
  const types = schema.$defs.UpstreamConfig.oneOf.map(({ $ref }) => $ref.split('/').at(-1))
  const $defs = { ...schema.$defs }
  const [first, ...others] = types.map(type => schema.$defs[type].properties)
  for (const [key, part] of Object.entries(first)) {
    const isAlike = others.every(properties => JSON.stringify(properties[key]) === JSON.stringify(part))
    if (!isAlike || part.$ref !== undefined) continue
    $defs[`upstream-${key}`] = part
    for (const type of types) {
      const { properties, ...rest } = $defs[type]
      $defs[type] = { ...rest, properties: { ...properties, [key]: { $ref: `#/$defs/upstream-${key}` } } }
    }
  }
  return withNames({ ...schema, $defs }, schema)
}

/** Keeps the rule for names where it is used: only there can an error say which name it is about. */
function withNames(part, schema) {
  if (Array.isArray(part)) return part.map(item => withNames(item, schema))
  if (part === null || typeof part !== 'object') return part
  const entries = Object.entries(part).map(([key, value]) => [key, withNames(value, schema)])
  const made = Object.fromEntries(entries)
  return made.propertyNames === undefined ? made : { ...made, propertyNames: resolve(made.propertyNames, schema) }
}

/** The schema without what no message quotes: it is loaded with every start. */
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
