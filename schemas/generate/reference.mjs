import { resolve } from './walk.mjs'

/** The key reference, in Markdown. */
export function keyReference(schema) {
  const sections = Object.entries(schema.properties).map(([key, part]) => section(key, part, schema))
  return [
    '<!-- Generated from schemas/base.json and plugins/*/schema.json by `npm run gen`. Do not edit. -->',
    '# Configuration reference',
    '',
    schema.description,
    '',
    'Durations are written `250ms`, `30s`, `5m`, `1h`, `1d`, or as a number of milliseconds; sizes `64KiB`, `4MiB`, or as a number of bytes.',
    'Editors complete and check the file from this first line:',
    '',
    '```yaml',
    '# yaml-language-server: $schema=./node_modules/tapgate/schemas/gateway.json',
    '```',
    '',
    '`<name>` is a name you choose.',
    '',
    ...GLOBS,
    '',
    ...sections,
  ].join('\n')
}

const GLOBS = [
  '## Globs',
  '',
  'Names, URIs, subjects and command lines are matched by globs, which match the whole text, and its case:',
  '',
  '| Glob | Matches |',
  '| --- | --- |',
  '| `*` | any text, also none; slashes and line breaks too |',
  '| `?` | any one character |',
  '| `[a-z_]`, `[!0-9]` | one character of the class; one that is not in it |',
  '| `{read,list}_*` | either; braces may be nested, and without a comma they stand for themselves, as in `file:///{path}` |',
  '| `\\{`, `\\[`, `\\*`, `\\?`, `\\\\` | the character itself |',
  '',
  'A `{` or `[` that is not closed is a mistake in the configuration. What any key says of tools and prompts that no server lists is a warning as soon as the lists are known: in the log of `serve`,',
  'in `inspect`, and in `validate` from what an earlier run has saved. Two may speak of what nobody lists: a route with `to`, as its server may answer to it, and a glob of `redact` that may match a URI.',
]

function section(key, part, schema) {
  const at = resolve(part, schema)
  const rows = [row(key, at, schema), ...rowsOf(part, schema, key)]
  return [
    `## ${key}`,
    '',
    at.description,
    '',
    '| Key | Type | Default | Description |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    'For example:',
    '',
    '```yaml',
    `${key}: ${JSON.stringify(at.examples[0])}`,
    '```',
    '',
  ].join('\n')
}

function rowsOf(part, schema, path) {
  const at = resolve(part, schema)
  if (at.then) return rowsOf(at.then, schema, path)
  const branches = (at.oneOf ?? []).filter(branch => branch.$ref)
  if (branches.length > 0) return branches.flatMap(branch => branchRows(branch, schema, path))
  const own = Object.entries(at.properties ?? {}).flatMap(([key, value]) =>
    entryRows(`${path}.${key}`, value, schema, at.required?.includes(key)),
  )
  const named =
    typeof at.additionalProperties === 'object' ? entryRows(`${path}.<name>`, at.additionalProperties, schema) : []
  const items = at.items && isCompound(resolve(at.items, schema)) ? rowsOf(at.items, schema, `${path}[]`) : []
  return [...own, ...named, ...items]
}

function branchRows(branch, schema, path) {
  const at = resolve(branch, schema)
  const tag = at.properties.type.const
  return [`| **\`${path}\`** with \`type: ${tag}\` | | | ${cell(at.description)} |`, ...rowsOf(branch, schema, path)]
}

function entryRows(path, value, schema, required) {
  const at = resolve(value, schema)
  const rows = isCompound(at) ? rowsOf(value, schema, path) : []
  const own = at.description === undefined || at.oneOf ? [] : [row(path, at, schema, required)]
  return [...own, ...rows]
}

const isCompound = at => at.properties || at.oneOf || at.then || typeof at.additionalProperties === 'object'

const row = (path, at, schema, required) =>
  `| \`${path}\` | ${cell(typeName(at, schema))} | ${cell(fallback(at, required))} | ${cell(at.description)} |`

function typeName(at, schema) {
  if (at.const !== undefined) return `\`${JSON.stringify(at.const)}\``
  if (at.enum) return at.enum.map(value => `\`${value}\``).join(', ')
  if (at.pattern === schema.$defs.duration.pattern) return 'duration'
  if (at.pattern === schema.$defs.size.pattern) return 'size'
  return [at.type]
    .flat()
    .map(type => TYPES[type])
    .join(' or ')
}

const TYPES = {
  string: 'string',
  integer: 'whole number',
  boolean: '`true` or `false`',
  object: 'map',
  array: 'list',
}

function fallback(at, required) {
  if (required) return 'required'
  if (at.default === undefined) return '–'
  const text = typeof at.default === 'string' ? at.default : JSON.stringify(at.default).replaceAll(',', ', ')
  return `\`${text}\``
}

const cell = text => (text ?? '').replaceAll('|', '\\|')
