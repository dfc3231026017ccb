import type { Answer, CatalogEntry, Exchange, JsonObject, PluginApi } from '../../src/plugin.ts'
import { isObject, refuse, RPC } from '../../src/plugin.ts'
import { described, failed, schemaOf, searched, unknownTool } from './answers.ts'
import type { Meta } from './meta-tools.ts'
import { mayBeMeta } from './meta-tools.ts'
import type { Scripts } from './code/scripts.ts'
import type { Surface } from './shown.ts'
import { isReadOnly } from './signature.ts'

/** A call that went through one of our tools. */
interface Through {
  readonly surface: Surface
  readonly meta: Meta
  /** Fault of the call; undefined where it may go on. */
  readonly problem?: string
  /** The name by which it asks for a tool. */
  readonly wanted?: string
}

/** Call that stands in the arguments of another one. */
interface Inner {
  readonly name: string
  readonly arguments: JsonObject
}

type SurfaceFor = (exchange: Exchange) => Promise<Surface | undefined>

const CALLS = ['tools/call']

/** Answers our tools, and lets the calls that stand in them take their place. */
export function tapCalls({ hooks, slot, rank }: PluginApi<never>, surfaceFor: SurfaceFor): void {
  const through = slot.exchange((): Through | undefined => undefined)
  const scripts = slot.gateway((): { made?: Promise<Scripts> } => ({}))

  hooks.unwrap.tap({ methods: CALLS }, exchange => {
    const name = exchange.params?.name
    if (!mayBeMeta(name)) return undefined
    return surfaceFor(exchange).then(async surface => {
      const meta = surface?.meta(name)
      if (surface === undefined || meta === undefined) return undefined
      if (meta !== 'read' && meta !== 'call') {
        through.set(exchange, { surface, meta })
        return undefined
      }
      const inner = await innerOf(exchange.params?.arguments, surface, meta)
      const found = typeof inner === 'string' ? { problem: inner } : { wanted: inner.name }
      through.set(exchange, { surface, meta, ...found })
      return typeof inner === 'string' ? undefined : inner
    })
  })
  // After limits, rules and filters: a search is a call like any other.
  hooks.request.tap({ methods: CALLS, stage: 'transform', calls: true }, exchange => {
    const own = through.get(exchange)
    if (own === undefined || own.wanted !== undefined) return undefined
    if (own.problem !== undefined) return failed(own.problem)
    if (own.meta === 'code') return scriptsIn(scripts).then(all => all.run(own.surface, exchange))
    const args = exchange.params?.arguments
    return own.meta === 'search' ? searched(own.surface, args, rank) : described(own.surface, args)
  })
  hooks.response.tap({ methods: CALLS, stage: 'transform' }, (answer, exchange) => {
    if (!isFailure(answer) || exchange.decidedBy !== undefined) return undefined
    const own = through.get(exchange)
    if (own !== undefined)
      return own.wanted === undefined ? undefined : taught(answer, exchange, own.surface, own.wanted)
    return taughtDirectly(answer, exchange, surfaceFor)
  })
}

/** False for all answers but a few, so that those wait for nothing; the refusal of a plugin is no matter of arguments. */
function isFailure(answer: Answer): boolean {
  if ('error' in answer) return answer.error.code === RPC.invalidParams
  return 'result' in answer && answer.result.isToolError
}

/** The same for a tool that was called by its name, unless the client has its schema as it is. */
async function taughtDirectly(
  answer: Answer,
  exchange: Exchange,
  surfaceFor: SurfaceFor,
): Promise<Answer | undefined> {
  const surface = await surfaceFor(exchange)
  const entry = surface && calledIn(surface, exchange)
  if (surface === undefined || entry === undefined) return undefined
  const { inputSchema } = entry.value
  const shown = await exchange.listShownEntries('tools')
  const hasSchema = shown.some(
    ({ exposed, value }) => exposed === entry.exposed && value.inputSchema === inputSchema,
  )
  return hasSchema ? undefined : taught(answer, exchange, surface, entry.exposed)
}

/** The tool of a call, by the name that the client gave; a name of its server's leads to the one that is shown. */
function calledIn(surface: Surface, { received, route }: Exchange): CatalogEntry | undefined {
  const name = received?.name
  const named = typeof name === 'string' ? surface.find(name) : undefined
  if (named !== undefined || route?.to !== 'one') return named
  const { upstream, params } = route
  return surface.entries.find(one => one.upstream === upstream && one.original === params?.name)
}

/** The scripts that run, loaded with the first one; a reload keeps them. */
function scriptsIn(kept: { made?: Promise<Scripts> }): Promise<Scripts> {
  return (kept.made ??= import('./code/scripts.ts').then(({ Scripts }) => new Scripts()))
}

/** The call in the arguments, or what is wrong with it. Models send inner arguments as text now and then. */
async function innerOf(args: unknown, surface: Surface, meta: Meta): Promise<Inner | string> {
  const { name, arguments: inner = {} } = isObject(args) ? args : {}
  if (typeof name !== 'string' || name === '') return '"name" must be the name of a tool'
  const read = typeof inner === 'string' ? parsed(inner) : inner
  if (!isObject(read)) return '"arguments" must be an object'
  return (await refusal(surface, meta, name)) ?? { name, arguments: read }
}

function parsed(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Why a call may not take this way; whether it may be made at all is for the rules to say. */
async function refusal(surface: Surface, meta: Meta, name: string): Promise<string | undefined> {
  if (surface.meta(name) !== undefined) return `${name} is called directly`
  if (meta !== 'read') return undefined
  const entry = surface.find(name)
  if (entry === undefined) return unknownTool(surface, name)
  return isReadOnly(entry.value)
    ? undefined
    : `${name} does not say that it only reads: call it with ${surface.names.call}`
}

/** A failure with what its caller needs to do better: similar names, or the schema of the arguments. */
function taught(answer: Answer, exchange: Exchange, surface: Surface, wanted: string): TeachingAnswer {
  const entry = surface.find(wanted)
  if ('error' in answer) return taughtError(answer, surface, wanted)
  if (!('result' in answer) || entry === undefined || !answer.result.isToolError) return undefined
  const { content } = answer.result.value()
  const list: unknown[] = Array.isArray(content) ? content : []
  // As the client gave them: the schema that it is shown may have other names than the server's.
  const { arguments: given } = exchange.received ?? exchange.params ?? {}
  if (!isAboutArguments(entry.value.inputSchema, given, textOf(list))) return undefined
  const text = schemaOf(entry)
  return text === ''
    ? undefined
    : { result: answer.result.edit(['content'], { content: [...list, { type: 'text', text }] }) }
}

type TeachingAnswer = Answer | undefined | Promise<Answer | undefined>

function taughtError(
  answer: Extract<Answer, { error: unknown }>,
  surface: Surface,
  wanted: string,
): TeachingAnswer {
  const { message, data } = answer.error
  const entry = surface.find(wanted)
  if (entry === undefined)
    return message.startsWith('Unknown tool')
      ? unknownTool(surface, wanted).then(text => refuse(RPC.invalidParams, text, data))
      : undefined
  const text = schemaOf(entry)
  return text === '' ? undefined : { ...answer, error: { ...answer.error, message: `${message}\n${text}` } }
}

function textOf(content: readonly unknown[]): string {
  return content.map(block => (isObject(block) && typeof block.text === 'string' ? block.text : '')).join(' ')
}

type Check = (value: unknown) => boolean

const TYPES: Readonly<Record<string, Check>> = {
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: value => Number.isInteger(value),
  boolean: value => typeof value === 'boolean',
  array: value => Array.isArray(value),
  object: value => isObject(value),
  null: value => value === null,
}

/** Words by which servers say that arguments are wrong. */
const WRONG = /argument|parameter|required|invalid|validation|schema|expected|missing|property|must be/i

/** Tells whether a failure is about arguments: they do not fit the schema, or the server says something of the kind. */
function isAboutArguments(schema: unknown, args: unknown, text: string): boolean {
  return !fits(schema, args) || WRONG.test(text.slice(0, 2000))
}

/** The outermost layer only: what is required is there, and of its type. */
function fits(schema: unknown, args: unknown = {}): boolean {
  if (!isObject(schema)) return true
  if (!isObject(args)) return false
  const { required, properties, additionalProperties } = schema
  if (Array.isArray(required) && required.some(name => typeof name === 'string' && args[name] === undefined))
    return false
  const known = isObject(properties) ? properties : {}
  return Object.entries(args).every(([name, value]) => {
    if (!Object.hasOwn(known, name)) return additionalProperties !== false
    return isOfType(known[name], value)
  })
}

function isOfType(schema: unknown, value: unknown): boolean {
  if (!isObject(schema)) return true
  const { type, enum: values } = schema
  if (Array.isArray(values) && !values.includes(value) && !isObject(value)) return false
  const types = (Array.isArray(type) ? type : [type]).filter(one => typeof one === 'string')
  return types.length === 0 || types.some(one => TYPES[one]?.(value) ?? true)
}
