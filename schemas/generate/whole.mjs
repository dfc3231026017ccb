import { readdir, readFile } from 'node:fs/promises'

/**
 * The schema of gateway.yaml: schemas/base.json with what each `plugins/<name>/schema.json` adds. A part has up to six members:
 * `sections` at the top, `upstreamTypes` as names of its `$defs`, keys of `upstreams` and of `listeners` by type (`*` for all
 * types, those of plugins included), keys of `profiles`, and `$defs` of its own.
 */
export async function wholeSchema(root) {
  const base = await read(new URL('schemas/base.json', root))
  const all = await parts(root)
  // First the types, as other parts add keys to them; last the keys of profiles, which are a part themselves.
  const whole = all.reduce((made, part) => withPart(made, part, base.$defs), all.reduce(withTypes, base))
  return all.reduce(withProfileKeys, whole)
}

async function parts(root) {
  const names = (await readdir(new URL('plugins/', root))).sort()
  const files = names.map(name => `plugins/${name}/schema.json`)
  const found = await Promise.all(
    files.map(async file => ({ file, ...(await read(new URL(file, root)).catch(absent)) })),
  )
  return found.filter(part => Object.keys(part).length > 1)
}

const read = async url => JSON.parse(await readFile(url, 'utf8'))

function absent(cause) {
  if (cause.code !== 'ENOENT' && cause.code !== 'ENOTDIR') throw cause
  return {}
}

function withTypes(whole, { file, upstreamTypes = [], $defs = {} }) {
  const types = Object.fromEntries(upstreamTypes.map(name => [name, $defs[name]]))
  const { UpstreamConfig } = whole.$defs
  const oneOf = [...UpstreamConfig.oneOf, ...upstreamTypes.map(name => ({ $ref: `#/$defs/${name}` }))]
  return {
    ...whole,
    $defs: union({ ...whole.$defs, UpstreamConfig: { ...UpstreamConfig, oneOf } }, types, file),
  }
}

function withPart(whole, part, common) {
  checkReferences(part, common)
  const { file, sections = {}, upstreamTypes = [], upstreams = {}, listeners = {}, profiles: _profiles, ...rest } = part
  const { $defs = {}, ...unknown } = rest
  const others = Object.entries($defs).filter(([name]) => !upstreamTypes.includes(name))
  for (const key of Object.keys(unknown)) throw new Error(`${file}: a part of the schema has no "${key}"`)
  const kinds = [
    ['UpstreamConfig', upstreams],
    ['ListenerConfig', listeners],
  ]
  return {
    ...whole,
    properties: union(whole.properties, sections, file),
    $defs: union(
      kinds.reduce((defs, [kind, keys]) => withKeys(defs, kind, keys, file), whole.$defs),
      Object.fromEntries(others),
      file,
    ),
  }
}

/** Lets a part refer to its own and to the common definitions only, so that each plugin can be left out. */
function checkReferences({ file, ...part }, common) {
  for (const [, name] of JSON.stringify(part).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g))
    if (part.$defs?.[name] === undefined && common[name] === undefined)
      throw new Error(`${file}: "${name}" is neither its own nor in schemas/base.json`)
}

/** The definitions with keys that a part adds to the types of a kind. */
function withKeys(defs, kind, added, file) {
  const types = defs[kind].oneOf.map(({ $ref }) => $ref.split('/').at(-1))
  const known = types.map(type => defs[type].properties.type.const)
  for (const type of Object.keys(added))
    if (type !== '*' && !known.includes(type)) throw new Error(`${file}: there is no type "${type}"`)
  return types.reduce((all, name) => {
    const { properties, ...rest } = all[name]
    const keys = { ...added['*'], ...added[properties.type.const] }
    return { ...all, [name]: { ...rest, properties: union(properties, keys, file) } }
  }, defs)
}

/** The schema with the keys that a part adds to each profile. */
function withProfileKeys(whole, { file, profiles: added = {} }) {
  const { ProfileConfig: profile } = whole.$defs
  const made = { ...profile, properties: union(profile.properties, added, file) }
  return { ...whole, $defs: { ...whole.$defs, ProfileConfig: made } }
}

function union(present, added, file) {
  for (const key of Object.keys(added))
    if (present[key] !== undefined) throw new Error(`${file}: "${key}" is there already`)
  return { ...present, ...added }
}
