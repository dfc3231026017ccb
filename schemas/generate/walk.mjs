/** A schema part with its `$ref` followed; what stands beside the `$ref` wins. */
export function resolve(part, schema) {
  if (part.$ref === undefined) return part
  const { $ref, ...beside } = part
  const target = schema.$defs[$ref.split('/').at(-1)]
  return { ...resolve(target, schema), ...beside }
}

/** Calls `visit(path, part)` for every key, depth first, `*` standing for any name or index. */
export function walk(part, schema, visit, path = '') {
  const at = resolve(part, schema)
  for (const inner of alternatives(at)) walk(inner, schema, visit, path)
  for (const [key, value] of children(at)) {
    visit(`${path}/${key}`, resolve(value, schema))
    walk(value, schema, visit, `${path}/${key}`)
  }
}

const alternatives = at => [...(at.then ? [at.then] : []), ...(at.oneOf ?? []).filter(branch => branch.$ref)]

const children = at => [
  ...Object.entries(at.properties ?? {}),
  ...[at.additionalProperties, at.items].filter(inner => typeof inner === 'object').map(inner => ['*', inner]),
]
