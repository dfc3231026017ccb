import { isObject, listAt, mapAt, textAt } from '../../../src/plugin.ts'
import { isJsonType, oneOf, parametersOf, plainType } from './parts.ts'
import type { Parameter, Plain, References, RequestBody } from './types.ts'

/** Members of a parameter of 2.0 that belong to its schema in 3. */
const OF_SCHEMA =
  'type format items enum default minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems uniqueItems multipleOf'.split(
    ' ',
  )
const STYLES: Readonly<Record<string, string>> = {
  csv: 'form',
  multi: 'form',
  ssv: 'spaceDelimited',
  tsv: 'tabDelimited',
  pipes: 'pipeDelimited',
}

/** Parameters of an operation of 2.0, but for those that make its body. */
export function swaggerParameters(all: readonly Plain[]): Parameter[] {
  return parametersOf(
    all.map(one => {
      const list = textAt(one, 'collectionFormat') ?? 'csv'
      const style = one.in === 'query' || one.in === 'cookie' ? (STYLES[list] ?? 'form') : 'simple'
      return { ...one, schema: schemaOf(one), style, explode: list === 'multi' }
    }),
  )
}

function schemaOf(one: Plain): Plain {
  const entries = OF_SCHEMA.filter(key => one[key] !== undefined).map(key => [key, one[key]])
  const schema = Object.fromEntries(entries) as Plain
  return schema.type === 'file' ? { ...schema, type: 'string', format: 'binary' } : schema
}

/** The body of an operation of 2.0: one parameter, or all that are `formData`. */
export function swaggerBody(
  all: readonly Plain[],
  operation: Plain,
  document: Plain,
): RequestBody | undefined {
  const own = listAt(operation, 'consumes')
  const types = (own.length > 0 ? own : listAt(document, 'consumes')).filter(type => typeof type === 'string')
  const body = all.find(one => one.in === 'body')
  const shared = { description: body && textAt(body, 'description'), encoding: new Map() }
  if (body !== undefined) {
    const contentType = types.find(isJsonType) ?? types[0] ?? 'application/json'
    const required = body.required === true
    return { ...shared, required, contentType: plainType(contentType), schema: body.schema }
  }
  const fields = all.filter(one => one.in === 'formData' && typeof one.name === 'string')
  if (fields.length === 0) return undefined
  const hasFile = fields.some(({ type }) => type === 'file')
  const isMultipart = hasFile || (types.includes('multipart/form-data') && !types.includes(FORM))
  const required = fields.filter(field => field.required === true).map(({ name }) => String(name))
  const properties = fields.map(field => {
    const described = { ...schemaOf(field), description: textAt(field, 'description') }
    return [String(field.name), described] as const
  })
  const encoding = fields.map(({ name, collectionFormat }) => {
    const style = STYLES[String(collectionFormat ?? 'csv')] ?? 'form'
    return [String(name), { style, explode: collectionFormat === 'multi', contentType: undefined }] as const
  })
  return {
    description: undefined,
    encoding: new Map(encoding),
    required: required.length > 0,
    contentType: isMultipart ? 'multipart/form-data' : FORM,
    schema: { type: 'object', properties: Object.fromEntries(properties), required },
  }
}

const FORM = 'application/x-www-form-urlencoded'

/** The schema of the one JSON result of 2.0. */
export function swaggerResult(operation: Plain, references: References): unknown {
  const schemas = Object.entries(mapAt(operation, 'responses'))
    .filter(([status]) => /^2\d\d$/.test(status))
    .map(([, given]) => references.follow(given))
    .flatMap(response => (isObject(response) && response.schema !== undefined ? [response.schema] : []))
  const [only] = schemas
  return isObject(only) && only.type === 'file' ? undefined : oneOf(schemas)
}

/** `host`, `basePath` and `schemes` as servers of 3. */
export function swaggerServers(document: Plain): unknown {
  const host = textAt(document, 'host')
  const path = textAt(document, 'basePath') ?? ''
  if (host === undefined) return [{ url: path === '' ? '/' : path }]
  const schemes = listAt(document, 'schemes')
  const scheme = schemes.length === 0 || schemes.includes('https') ? 'https' : String(schemes[0])
  return [{ url: `${scheme}://${host}${path}` }]
}
