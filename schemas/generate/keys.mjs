import { format } from 'prettier'
import { resolve, walk } from './walk.mjs'

/** Paths whose values are secret or globs, and paths that take a number or a boolean, `*` standing for any name. */
export async function keyTable(schema) {
  const secret = new Set()
  const number = new Set()
  const boolean = new Set()
  const glob = new Set()
  const principal = new Set()
  const tool = new Set()
  const seen = {}
  const adds = {}
  const marked = { 'x-secret': secret, 'x-globs': glob, 'x-principals': principal, 'x-tools': tool }
  const types = {}
  const files = {}
  const said = { 'x-private': files, 'x-seen': seen, 'x-adds': adds }
  walk(schema, schema, (path, part) => {
    const accepted = [part.type].flat()
    for (const [mark, paths] of Object.entries(marked)) if (part[mark]) paths.add(path)
    for (const [mark, table] of Object.entries(said)) if (part[mark]) table[path] = part[mark]
    if (accepted.includes('integer') || accepted.includes('number')) number.add(path)
    if (accepted.includes('boolean')) boolean.add(path)
    if (part.discriminator) types[path] = part.oneOf.map(branch => resolve(branch, schema).properties.type.const)
  })
  const table = (name, comment, paths) =>
    `/** ${comment} */\nexport const ${name}: ReadonlySet<string> = new Set(${JSON.stringify([...paths].sort())})\n`
  const text = [
    '// Generated from schemas/base.json and plugins/*/schema.json by `npm run gen`. Do not edit.\n',
    table('SECRET_PATHS', 'Values that are never shown.', secret),
    table('NUMBER_PATHS', 'Values that may be a number.', number),
    table('BOOLEAN_PATHS', 'Values that may be true or false.', boolean),
    `/** What a path of the gateway's own leads to. */\nexport type PrivateKind = 'file' | 'directory' | 'module'\n`,
    `/** Paths of files and directories that only the gateway may see. */\nexport const PRIVATE_PATHS: Readonly<Record<string, PrivateKind>> = ${JSON.stringify(files)}\n`,
    table('GLOB_PATHS', 'Globs: a text, a list of them, or the keys of a map.', glob),
    table('SECTIONS', 'Keys at the top.', Object.keys(schema.properties)),
    table('PRINCIPAL_PATHS', 'Globs for callers: a text, or a list of them.', principal),
    table('TOOL_PATHS', 'Globs for tools of one upstream, by its own names: a list, or the keys of a map.', tool),
    `/** Kinds of what clients are shown by a name; resources have URIs. */\nexport type SeenKind = 'tools' | 'prompts' | 'resources'\n`,
    `/** Globs for what clients see, by the names they see: a text, a list, or the keys of a map. */\nexport const SEEN_PATHS: Readonly<Record<string, readonly SeenKind[]>> = ${JSON.stringify(sorted(seen))}\n`,
    table('ADDED_TOOLS', 'Tools that sections add, which no server lists.', Object.values(adds).flat()),
    `/** What \`type\` may be. */\nexport const TYPES: Readonly<Record<string, readonly string[]>> = ${JSON.stringify(types)}\n`,
  ].join('\n')
  return format(text, { parser: 'typescript', semi: false, singleQuote: true, printWidth: 110 })
}

const sorted = map => Object.fromEntries(Object.entries(map).sort())
