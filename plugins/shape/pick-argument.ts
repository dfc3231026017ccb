import type { Call, CatalogEntry, Exchange, JsonObject, Slot } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { CompiledPick } from './pick-expression.ts'
import { compilePick, MAX_PICK_LENGTH, shapeError } from './pick-expression.ts'
import type { ShapingRule, ShapingRules } from './shaping-rules.ts'

const PICK_ARGUMENT = {
  type: 'string',
  description: 'JMESPath expression for the part of the result to return. Omit it for the complete result.',
}

/**
 * Adapts tools in a list: removes an output schema that a pick invalidates, and adds the pick argument if allowed.
 */
export function adaptListing(
  entries: readonly CatalogEntry[],
  ruleOf: (entry: CatalogEntry) => ShapingRule | undefined,
): readonly CatalogEntry[] | undefined {
  const changed = entries.map(entry => {
    const rule = ruleOf(entry)
    return rule === undefined ? entry : addPickArgument(dropOutputSchema(entry, rule), rule)
  })
  return changed.every((entry, index) => entry === entries[index]) ? undefined : changed
}

function dropOutputSchema(entry: CatalogEntry, { pick, drop, ask, patienceMs, asClient }: ShapingRule): CatalogEntry {
  const mayGoOn = patienceMs !== undefined || asClient.includes('patience')
  const changes = pick !== undefined || drop.length > 0 || ask || mayGoOn
  if (!changes || entry.value.outputSchema === undefined) return entry
  const { outputSchema: _schema, ...value } = entry.value
  return { ...entry, value }
}

function addPickArgument(entry: CatalogEntry, { ask }: ShapingRule): CatalogEntry {
  const schema = entry.value.inputSchema
  if (!ask || !isObject(schema) || hasPickArgument(entry)) return entry
  const properties = {
    ...(isObject(schema.properties) ? schema.properties : {}),
    [PICK_ARGUMENT_NAME]: PICK_ARGUMENT,
  }
  return { ...entry, value: { ...entry.value, inputSchema: { ...schema, properties } } }
}

/** Expression in a request's `_meta`. */
const PICK_META_KEY = 'io.tapgate/pick'
/** Expression argument, if a rule has `ask`. */
export const PICK_ARGUMENT_NAME = '_pick'

/** An exchange's pick, until its answer arrives. */
export type PickSlot = Slot<Exchange, { readonly pick: CompiledPick | undefined }>

/** Removes the pick from the request before other plugins see it, and stores it. */
export function storeRequestedPick(call: Call, rules: ShapingRules, slot: PickSlot): void {
  const { params, exchange } = call
  const inMeta = isObject(params?._meta) ? params._meta[PICK_META_KEY] : undefined
  const inArguments = isObject(params?.arguments) ? params.arguments[PICK_ARGUMENT_NAME] : undefined
  const isInArguments = inArguments !== undefined && mayPick(call, rules)
  if (inMeta === undefined && !isInArguments) return
  call.params = stripPick(params, isInArguments)
  exchange.params = stripPick(exchange.params, isInArguments)
  slot.set(exchange, { pick: parsePick(isInArguments ? inArguments : inMeta) })
}

/** @throws GatewayError for an invalid expression, before the call */
function parsePick(text: unknown): CompiledPick | undefined {
  if (text === '' || text === null || text === undefined) return undefined
  if (typeof text !== 'string') throw shapeError('GW_SHAPE_PICK', { why: 'not a string' })
  const compiled = compilePick(text, MAX_PICK_LENGTH)
  if ('mistake' in compiled) throw shapeError('GW_SHAPE_PICK', { why: compiled.mistake })
  return compiled.pick
}

/** False if the tool defines that argument itself. */
function mayPick({ exchange, upstream }: Call, rules: ShapingRules): boolean {
  const rule = rules.findRule(String(exchange.params?.name), upstream, exchange.session.profile)
  return rule?.ask === true && !hasPickArgument(exchange.entry)
}

/** True if the tool defines an argument `_pick` itself. */
export function hasPickArgument(entry: CatalogEntry | undefined): boolean {
  const schema = entry?.value.inputSchema
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
  return Object.hasOwn(properties, PICK_ARGUMENT_NAME)
}

function stripPick(params: JsonObject = {}, isInArguments: boolean): JsonObject {
  const { _meta, arguments: args, ...rest } = params
  const { [PICK_META_KEY]: _asked, ...meta } = isObject(_meta) ? _meta : {}
  const { [PICK_ARGUMENT_NAME]: _pick, ...otherArgs } = isObject(args) ? args : {}
  return {
    ...rest,
    ...(args === undefined ? {} : { arguments: isInArguments ? otherArgs : args }),
    ...(_meta === undefined ? {} : { _meta: isObject(_meta) ? meta : _meta }),
  }
}
