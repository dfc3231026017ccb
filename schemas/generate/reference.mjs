import { stringify } from 'yaml'
import { resolve } from './walk.mjs'
import { wholeSchema } from './whole.mjs'

const NOTE = '<!-- Generated from schemas/base.json and plugins/*/schema.json by `npm run gen`. Do not edit. -->'

/** Returns the configuration reference as [file, Markdown] pairs: an index, and a page per section. `root` is the URL of the checkout. */
export async function configReference(root) {
  const schema = await wholeSchema(root)
  const sections = Object.entries(schema.properties).map(([key, part]) => [key, part, resolve(part, schema)])
  const index = [
    NOTE,
    '# Configuration reference',
    '',
    'Every section of `gateway.yaml` has a page with its keys, types and defaults.',
    '',
    '```yaml',
    '# yaml-language-server: $schema=./node_modules/tapgate/schemas/gateway.json',
    'version: 1',
    'upstreams:',
    '  files: { command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", .] }',
    '```',
    '',
    'The first line makes editors complete and check the file.',
    '',
    '| Section | Description |',
    '| --- | --- |',
    ...sections.map(([key, , at]) => `| [\`${key}\`](config/${key}.md) | ${cell(at.description)} |`),
    '',
    '## Values',
    '',
    '- Durations: `250ms`, `30s`, `5m`, `1h`, `1d`, or a number of milliseconds.',
    '- Sizes: `64KiB`, `4MiB`, or a number of bytes.',
    '- `<name>` in a key is a name you choose.',
    '',
    ...GLOBS,
    '',
  ]
  return [
    ['docs/reference/config.md', index.join('\n')],
    ...sections.map(([key, part, at]) => [`docs/reference/config/${key}.md`, sectionPage(key, part, at, schema)]),
  ]
}

const GLOBS = [
  '## Globs',
  '',
  'Globs match names, URIs, subjects and command lines: the whole text, case-sensitive.',
  '',
  '| Glob | Matches |',
  '| --- | --- |',
  '| `*` | any text, including none, slashes and line breaks |',
  '| `?` | any one character |',
  '| `[a-z_]`, `[!0-9]` | one character of the class; one that is not in the class |',
  '| `{read,list}_*` | either; braces may be nested; without a comma they are literal, as in `file:///{path}` |',
  '| `\\{`, `\\[`, `\\*`, `\\?`, `\\\\` | the character itself |',
  '',
  'An unclosed `{` or `[` is an error. A glob or name that matches no listed tool or prompt is a warning, in the log of',
  '`serve`, in `inspect`, and in `validate` if lists are saved from an earlier run. Exceptions: a route with `to`, and globs of',
  '`redact`, which may match URIs.',
]

function sectionPage(key, part, at, schema) {
  return [
    NOTE,
    `# ${key}`,
    '',
    at.description,
    '',
    '```yaml',
    stringify({ [key]: at.examples[0] }).trimEnd(),
    '```',
    '',
    '| Key | Type | Default | Description |',
    '| --- | --- | --- | --- |',
    row(key, at, schema),
    ...rowsOf(part, schema, key),
    '',
    'Durations, sizes and globs: [configuration reference](../config.md#values).',
    '',
  ].join('\n')
}

function rowsOf(part, schema, path) {
  const at = resolve(part, schema)
  if (at.then) return rowsOf(at.then, schema, path)
  const branches = (at.oneOf ?? []).filter(branch => branch.$ref)
  if (branches.length > 0) return typeRows(branches, schema, path)
  const own = Object.entries(at.properties ?? {}).flatMap(([key, value]) =>
    entryRows(`${path}.${key}`, value, schema, at.required?.includes(key)),
  )
  const named =
    typeof at.additionalProperties === 'object' ? entryRows(`${path}.<name>`, at.additionalProperties, schema) : []
  const items = at.items && isCompound(resolve(at.items, schema)) ? rowsOf(at.items, schema, `${path}[]`) : []
  return [...own, ...named, ...items]
}

/** Lists the keys of all types once, then the other keys of each type. */
function typeRows(branches, schema, path) {
  const types = branches.map(branch => ({ at: resolve(branch, schema), rows: rowsOf(branch, schema, path) }))
  const common = types[0].rows.filter(line => types.every(({ rows }) => rows.includes(line)))
  return [
    `| **\`${path}\`** of every type | | | |`,
    ...common,
    ...types.flatMap(({ at, rows }) => [
      `| **\`${path}\`** with \`type: ${at.properties.type.const}\` | | | ${cell(at.description)} |`,
      ...rows.filter(line => !common.includes(line)),
    ]),
  ]
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
