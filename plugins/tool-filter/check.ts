import type { KnownTools, JsonObject, Report } from '../../src/plugin.ts'
import { compileGlobs, isObject, readMap, appendPointer } from '../../src/plugin.ts'
import type { ArgumentSpec, OverrideSpec } from './override/overrides.ts'
import { hasPlace, isHidden, merged } from './override/overrides.ts'

/** Keys beside which one says nothing, and why. */
const ALONE: readonly (readonly [keyof ArgumentSpec, string])[] = [
  ['value', 'an argument with a value is not shown, so'],
  ['hide', 'an argument that is hidden is not shown, so'],
]

/** Points at overrides that contradict themselves. */
export function check(config: unknown, report: Report): void {
  for (const { pointer, written } of placesIn(config))
    for (const [glob, spec] of Object.entries(written)) {
      const at = `${appendPointer(pointer, glob)}/arguments`
      const args = argumentsIn(spec)
      for (const [name, argument] of args) checkArgument(argument, appendPointer(at, name), report)
      checkNames(args, at, report)
    }
}

interface OverridePath {
  readonly pointer: string
  readonly written: JsonObject
  /** The server that it is about; undefined for all. */
  readonly upstream: string | undefined
}

function placesIn(config: unknown): OverridePath[] {
  const own = Object.keys(readMap(config, 'upstreams')).map(upstream => ({
    pointer: `${appendPointer('/upstreams', upstream)}/tools/override`,
    written: readMap(config, 'upstreams', upstream, 'tools', 'override'),
    upstream,
  }))
  const all = readMap(config, 'filters', 'tools', 'override')
  return [...own, { pointer: '/filters/tools/override', written: all, upstream: undefined }]
}

function argumentsIn(spec: unknown): [string, JsonObject][] {
  return Object.entries(readMap({ spec }, 'spec', 'arguments')).flatMap(([name, argument]) =>
    isObject(argument) ? [[name, argument] as [string, JsonObject]] : [],
  )
}

function checkArgument(argument: JsonObject, pointer: string, report: Report): void {
  for (const [key, why] of ALONE) {
    if (!(key in argument) || argument[key] === false) continue
    const idle = Object.keys(argument).filter(other => other !== key && argument[other] !== false)
    for (const other of idle)
      report({
        pointer: `${pointer}/${other}`,
        message: `${why} "${other}" says nothing`,
        hint:
          other === 'default' ? 'to give it always, take "value" alone' : `leave out "${other}" or "${key}"`,
        on: 'key',
      })
    if (idle.length > 0) return
  }
}

/** Two arguments under one name could not be told apart. */
function checkNames(args: readonly (readonly [string, JsonObject])[], pointer: string, report: Report): void {
  const names = new Map<unknown, string>()
  for (const [name, { rename }] of args) {
    if (rename === undefined) continue
    const other = names.get(rename)
    names.set(rename, name)
    if (other !== undefined)
      report({
        pointer: `${appendPointer(pointer, name)}/rename`,
        message: `"${String(rename)}" is the name of "${other}" already`,
        hint: 'give each argument a name of its own',
      })
  }
}

/** Points at overrides that do not fit the tools that servers list. */
export function checkTools(config: unknown, known: KnownTools, report: Report): void {
  for (const { pointer, written, upstream } of placesIn(config))
    for (const [glob, spec] of Object.entries(written)) {
      const tools = toolsOf(glob, upstream, known)
      // A glob that matches nothing is pointed at with all others.
      if (tools.length > 0) checkSpec(spec as OverrideSpec, appendPointer(pointer, glob), tools, report)
    }
}

/** Definitions of the tools that a glob is about, as far as they are known. */
function toolsOf(glob: string, upstream: string | undefined, known: KnownTools): readonly JsonObject[] {
  const fits = compileGlobs(glob)
  return [...known].flatMap(([name, tools]) =>
    upstream !== undefined && upstream !== name
      ? []
      : tools
          .filter(tool => fits(upstream === undefined ? tool.exposed : tool.original))
          .map(({ value }) => value),
  )
}

function checkSpec(spec: OverrideSpec, pointer: string, tools: readonly JsonObject[], report: Report): void {
  const schemas = tools.map(({ inputSchema }) => (isObject(inputSchema) ? inputSchema : {}))
  for (const text of Object.keys(spec.texts ?? {}))
    if (!schemas.some(schema => hasPlace(schema, text)))
      warn(appendPointer(`${pointer}/texts`, text), `no schema has anything at "${text}"`, report)
  for (const [name, argument] of Object.entries(spec.arguments ?? {})) {
    const having = schemas.filter(schema => propertiesOf(schema).includes(name))
    const at = appendPointer(`${pointer}/arguments`, name)
    if (having.length === 0) warn(at, `no tool that it is about has an argument "${name}"`, report)
    else checkFits({ name, argument, at, having, spec }, report)
  }
}

interface ArgumentOverride {
  readonly name: string
  readonly argument: ArgumentSpec
  readonly at: string
  /** Schemas that have it. */
  readonly having: readonly JsonObject[]
  readonly spec: OverrideSpec
}

function checkFits(
  { name, argument: { hide, rename }, at, having, spec }: ArgumentOverride,
  report: Report,
): void {
  if (hide === true && having.some(schema => isRequired(schema, name)))
    warn(
      `${at}/hide`,
      `"${name}" is required, and without a value every call fails`,
      report,
      'give it a "value"',
    )
  if (rename !== undefined && having.some(schema => isTaken(schema, rename, name, spec)))
    warn(
      `${at}/rename`,
      `the tool has an argument "${rename}" already`,
      report,
      'rename or hide that one too',
    )
}

function warn(pointer: string, message: string, report: Report, hint?: string): void {
  report({ pointer, message, ...(hint === undefined ? {} : { hint }), severity: 'warning' })
}

function propertiesOf({ properties }: JsonObject): string[] {
  return isObject(properties) ? Object.keys(properties) : []
}

function isRequired({ required }: JsonObject, name: string): boolean {
  return Array.isArray(required) && required.includes(name)
}

/** True if another argument keeps this name for clients. */
function isTaken(schema: JsonObject, rename: string, name: string, spec: OverrideSpec): boolean {
  if (rename === name || !propertiesOf(schema).includes(rename)) return false
  const other = merged([spec])?.arguments?.specs.get(rename)
  return other === undefined || (!isHidden(other) && (other.rename ?? rename) === rename)
}
