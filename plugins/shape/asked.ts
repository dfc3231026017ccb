import type { Call, CatalogEntry, Exchange, JsonObject, Slot } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { Pick } from './pick.ts'
import { compilePick, MAX_ASKED, shapeError } from './pick.ts'
import type { Rule, Rules } from './rules.ts'

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

/** Member of a request's `_meta` with an expression. */
const ASKED_IN_META = 'io.tapgate/pick'
/** Argument with an expression, where a rule has `ask`. */
export const ASKED_IN_ARGUMENTS = '_pick'

/** Place where the wish of an exchange is kept until its answer comes. */
export type AskedSlot = Slot<Exchange, { readonly pick: Pick | undefined }>

/** Takes what the caller wants of the result out of the request, before anything judges or keeps it. */
export function takeAsked(call: Call, rules: Rules, asked: AskedSlot): void {
  const { params, exchange } = call
  const inMeta = isObject(params?._meta) ? params._meta[ASKED_IN_META] : undefined
  const inArguments = isObject(params?.arguments) ? params.arguments[ASKED_IN_ARGUMENTS] : undefined
  const isInArguments = inArguments !== undefined && mayAsk(call, rules)
  if (inMeta === undefined && !isInArguments) return
  call.params = stripped(params, isInArguments)
  exchange.params = stripped(exchange.params, isInArguments)
  asked.set(exchange, { pick: pickOf(isInArguments ? inArguments : inMeta) })
}

/** @throws GatewayError for what is no expression, before anything was called */
function pickOf(text: unknown): Pick | undefined {
  if (text === '' || text === null || text === undefined) return undefined
  if (typeof text !== 'string') throw shapeError('GW_SHAPE_PICK', { why: 'it is no text' })
  const compiled = compilePick(text, MAX_ASKED)
  if ('mistake' in compiled) throw shapeError('GW_SHAPE_PICK', { why: compiled.mistake })
  return compiled.pick
}

/** A tool that has an argument of that name itself keeps it. */
function mayAsk({ exchange, upstream }: Call, rules: Rules): boolean {
  const rule = rules.for(String(exchange.params?.name), upstream, exchange.session.profile)
  return rule?.ask === true && !hasOwnArgument(exchange.entry)
}

/** Tells whether a tool has an argument `_pick` of its own. */
export function hasOwnArgument(entry: CatalogEntry | undefined): boolean {
  const schema = entry?.value.inputSchema
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
  return Object.hasOwn(properties, ASKED_IN_ARGUMENTS)
}

function stripped(params: JsonObject = {}, isInArguments: boolean): JsonObject {
  const { _meta, arguments: given, ...rest } = params
  const { [ASKED_IN_META]: _asked, ...meta } = isObject(_meta) ? _meta : {}
  const { [ASKED_IN_ARGUMENTS]: _pick, ...others } = isObject(given) ? given : {}
  return {
    ...rest,
    ...(given === undefined ? {} : { arguments: isInArguments ? others : given }),
    ...(_meta === undefined ? {} : { _meta: isObject(_meta) ? meta : _meta }),
  }
}
