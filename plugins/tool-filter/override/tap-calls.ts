import {
  BoundedMap,
  isObject,
  paramHeaders,
  paramHeaderValues,
  type Call,
  type ExplainStep,
  type JsonObject,
  type ParamHeader,
  type PluginHooks,
} from '../../../src/plugin.ts'
import { filterError } from '../errors.ts'
import type { Override, Overrides } from './overrides.ts'

const MAX_TOOLS = 10_000

/** Arguments that travel in headers too, by tool; as the server's own schema says. */
type Mirrors = BoundedMap<string, readonly ParamHeader[]>

/** Table of the arguments that travel in headers. */
export function mirrors(): Mirrors {
  return new BoundedMap({ max: MAX_TOOLS })
}

/** Notes which arguments of a tool travel in headers: once they are renamed or hidden, its entry does not say so any more. */
export function noteMirrors(known: Mirrors, key: string, inputSchema: unknown): void {
  const found = paramHeaders(inputSchema) ?? []
  if (found.length > 0) known.set(key, found)
}

export function keyOf(upstream: string, original: string): string {
  return JSON.stringify([upstream, original])
}

/**
 * Puts the arguments of calls back to what servers know, ahead of all rules about them and of whoever records them: they know
 * one name of each argument, that of the server.
 */
export function tapCalls(hooks: PluginHooks, overrides: Overrides, known: Mirrors): void {
  const done = new WeakSet<object>()
  hooks.call.tap({ methods: ['tools/call'], stage: 'trace' }, call => {
    const original = call.params?.name
    if (typeof original !== 'string') return
    const override = overrides.for(call.upstream, original)
    if (override?.arguments === undefined) return
    // A call that is made once more, with what its server wanted to know, has them already.
    const given = call.params?.arguments
    if (!isObject(given) || !done.has(given)) putBack(call, override, done)
    const found = known.get(keyOf(call.upstream, original))
    if (found !== undefined) Object.assign(call.headers, paramHeaderValues(found, call.params?.arguments))
  })
  hooks.explain.tap((steps, { entry, exchange }) => {
    const override = entry?.kind === 'tools' ? overrides.for(entry.upstream, entry.original) : undefined
    return override?.arguments === undefined || exchange.method !== 'tools/call'
      ? undefined
      : [...steps, CHANGES]
  })
}

const CHANGES: ExplainStep = {
  by: 'tool-filter',
  at: 'call',
  does: 'passes',
  text: 'tools.override changes its arguments; rules see those of the server',
}

function putBack(call: Call, { arguments: changes }: Override, done: WeakSet<object>): void {
  const { exchange } = call
  const given = call.params?.arguments ?? {}
  // A server says better than we do what is wrong with arguments that are no object.
  if (!isObject(given) || changes === undefined) return
  const made = changes.putBack(given, exchange.hasExactNumbers !== false)
  const tool = String(exchange.params?.name)
  if ('unknown' in made)
    throw filterError('GW_ARGUMENT_UNKNOWN', { tool, argument: made.unknown.slice(0, 100) })
  if ('inexact' in made) throw filterError('GW_ARGUMENT_INEXACT', { tool, argument: made.inexact })
  done.add(made.args)
  call.params = withArguments(call.params, made.args)
  exchange.params = withArguments(exchange.params, made.args)
}

function withArguments(params: JsonObject | undefined, args: JsonObject): JsonObject {
  return { ...params, arguments: args }
}
