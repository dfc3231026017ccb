/** A schema part with its `$ref` followed; what stands beside the `$ref` wins. */
export function resolve(part, schema) {
  if (part.$ref === undefined) return part
  const { $ref, ...beside } = part
  const target = schema.$defs[$ref.split('/').at(-1)]
  return { ...resolve(target, schema), ...beside }
}

/** Calls `visit(path, part, required)` for every key, depth first, `*` standing for any name or index. */
export function walk(part, schema, visit, path = '') {
  const at = resolve(part, schema)
  if (at.then) walk(at.then, schema, visit, path)
  for (const branch of at.oneOf ?? []) if (branch.$ref) walk(branch, schema, visit, path)
  for (const [key, value] of Object.entries(at.properties ?? {})) {
    visit(`${path}/${key}`, resolve(value, schema), (at.required ?? []).includes(key), at)
    walk(value, schema, visit, `${path}/${key}`)
  }
  for (const inner of [at.additionalProperties, at.items]) {
    if (typeof inner !== 'object') continue
    visit(`${path}/*`, resolve(inner, schema), false, at)
    walk(inner, schema, visit, `${path}/*`)
  }
}
