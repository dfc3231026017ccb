import { type CatalogEntry, isObject } from '../../src/plugin.ts'
import type { Rule } from './rules.ts'
import { ASKED_IN_ARGUMENTS, hasOwnArgument } from './asked.ts'

const ARGUMENT = {
  type: 'string',
  description: 'JMESPath expression: the part of the result that you want. Leave it out for all.',
}

/** Tools as clients are shown them: a schema of results that a pick changes would be wrong, and where one may ask there is an argument for it. */
export function listed(
  shown: readonly CatalogEntry[],
  ruleOf: (entry: CatalogEntry) => Rule | undefined,
): readonly CatalogEntry[] | undefined {
  const changed = shown.map(entry => {
    const rule = ruleOf(entry)
    return rule === undefined ? entry : withArgument(withoutSchema(entry, rule), rule)
  })
  return changed.every((entry, index) => entry === shown[index]) ? undefined : changed
}

function withoutSchema(entry: CatalogEntry, { pick, drop, ask, patienceMs, asClient }: Rule): CatalogEntry {
  const mayGoOn = patienceMs !== undefined || asClient.includes('patience')
  const changes = pick !== undefined || drop.length > 0 || ask || mayGoOn
  if (!changes || entry.value.outputSchema === undefined) return entry
  const { outputSchema: _schema, ...value } = entry.value
  return { ...entry, value }
}

function withArgument(entry: CatalogEntry, { ask }: Rule): CatalogEntry {
  const schema = entry.value.inputSchema
  if (!ask || !isObject(schema) || hasOwnArgument(entry)) return entry
  const properties = {
    ...(isObject(schema.properties) ? schema.properties : {}),
    [ASKED_IN_ARGUMENTS]: ARGUMENT,
  }
  return { ...entry, value: { ...entry.value, inputSchema: { ...schema, properties } } }
}
