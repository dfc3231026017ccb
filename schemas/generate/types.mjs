import { compile } from 'json-schema-to-typescript'
import { format } from 'prettier'
import { resolve } from './walk.mjs'

const BANNER = '// Generated from schemas/base.json and plugins/*/schema.json by `npm run gen`. Do not edit.\n'

/** TypeScript types of the config after defaults: what has a default is there. */
export async function types(schema) {
  const root = typed(schema, schema)
  root.definitions = Object.fromEntries(
    Object.entries(schema.$defs)
      .filter(([name]) => isTypeName(name))
      .map(([name, part]) => [name, typed(part, schema)]),
  )
  const text = await compile(root, 'Config', {
    bannerComment: BANNER,
    additionalProperties: false,
    unreachableDefinitions: true,
    format: false,
  })
  return pretty(readonly((await pretty(text)).replaceAll(NOISE, '')))
}

const NOISE = /\n \*\n \* This interface was referenced by `Config`'s JSON-Schema\n \* via the `definition` "\w+"\./g

const pretty = text =>
  format(text, {
    parser: 'typescript',
    semi: false,
    singleQuote: true,
    printWidth: 110,
    trailingComma: 'all',
    arrowParens: 'avoid',
  })

const isTypeName = name => /^[A-Z]/.test(name)

/** The part of the schema that types are made of, with small `$ref`s put in place. */
function typed(part, schema) {
  if (part.$ref !== undefined) return reference(part, schema)
  if (part.if !== undefined)
    return {
      description: part.description,
      anyOf: [part.then, part.else].map(choice => typed(choice, schema)),
    }
  if (part.oneOf?.some(branch => !branch.$ref)) return eitherOr(part, schema)
  if (part.oneOf) return { description: part.description, oneOf: part.oneOf.map(branch => typed(branch, schema)) }
  return { ...plain(part), ...inner(part, schema) }
}

function reference(part, schema) {
  const name = part.$ref.split('/').at(-1)
  return isTypeName(name) ? { $ref: `#/definitions/${name}` } : typed({ ...resolve(part, schema) }, schema)
}

function plain(part) {
  const open = part.type === 'object' && !part.properties ? { additionalProperties: true } : {}
  const kept = ['title', 'description', 'enum', 'const', 'additionalProperties'].filter(key => part[key] !== undefined)
  const type = part.const === undefined ? { type: part.type } : {}
  return { ...open, ...type, ...Object.fromEntries(kept.map(key => [key, part[key]])) }
}

function inner(part, schema) {
  return {
    ...(part.items ? { items: typed(part.items, schema) } : {}),
    ...(typeof part.additionalProperties === 'object'
      ? { additionalProperties: typed(part.additionalProperties, schema) }
      : {}),
    ...(part.properties ? properties(part, schema) : {}),
  }
}

function properties(part, schema) {
  const entries = Object.entries(part.properties)
  const withDefault = entries.filter(([, value]) => value.default !== undefined).map(([key]) => key)
  return {
    properties: Object.fromEntries(entries.map(([key, value]) => [key, typed(value, schema)])),
    required: [...new Set([...(part.required ?? []), ...withDefault])],
  }
}

/** `oneOf: [{required: [a]}, {required: [b]}]` as a union in which the other key cannot be there. */
function eitherOr({ oneOf, ...part }, schema) {
  const choices = oneOf.map(branch => branch.required[0])
  const branches = choices.map(choice => {
    const branch = typed({ ...part, description: undefined, required: [...(part.required ?? []), choice] }, schema)
    for (const other of choices) if (other !== choice) branch.properties[other] = { tsType: 'undefined' }
    return branch
  })
  return { description: part.description, oneOf: branches }
}

function readonly(text) {
  return text
    .replace(/^(\s+)((?:\w+|"[^"]+"|\[k: string\])\??: )/gm, '$1readonly $2')
    .replace(/\b(string|number|boolean|unknown|[A-Z]\w+)\[\]/g, 'readonly $1[]')
}
