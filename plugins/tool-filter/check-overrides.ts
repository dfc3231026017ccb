import type { KnownTools, JsonObject, Report } from '../../src/plugin.ts'
import { compileGlobs, isObject, readMap, appendPointer } from '../../src/plugin.ts'
import type { OverrideSpec } from './override/overrides.ts'
import { hasPointer } from './override/overrides.ts'

/** Reports contradictory overrides. */
export function checkOverrides(config: unknown, report: Report): void {
  for (const { pointer, written } of listOverridePaths(config))
    for (const [glob, spec] of Object.entries(written)) {
      const at = `${appendPointer(pointer, glob)}/arguments`
      checkNames(listArguments(spec), at, report)
    }
}

interface OverridePath {
  readonly pointer: string
  readonly written: JsonObject
  /** Upstream; undefined for all. */
  readonly upstream: string | undefined
}

function listOverridePaths(config: unknown): OverridePath[] {
  const own = Object.keys(readMap(config, 'upstreams')).map(upstream => ({
    pointer: `${appendPointer('/upstreams', upstream)}/tools/override`,
    written: readMap(config, 'upstreams', upstream, 'tools', 'override'),
    upstream,
  }))
  const all = readMap(config, 'filters', 'tools', 'override')
  return [...own, { pointer: '/filters/tools/override', written: all, upstream: undefined }]
}

function listArguments(spec: unknown): [string, JsonObject][] {
  return Object.entries(readMap({ spec }, 'spec', 'arguments')).flatMap(([name, argument]) =>
    isObject(argument) ? [[name, argument] as [string, JsonObject]] : [],
  )
}

/** Reports two arguments with the same name. */
function checkNames(args: readonly (readonly [string, JsonObject])[], pointer: string, report: Report): void {
  const names = new Map<unknown, string>()
  for (const [name, { rename }] of args) {
    if (rename === undefined) continue
    const toolName = names.get(rename)
    names.set(rename, name)
    if (toolName !== undefined)
      report({
        pointer: `${appendPointer(pointer, name)}/rename`,
        message: `"${String(rename)}" is already the name of "${toolName}"`,
        hint: 'use unique names',
      })
  }
}

/** Reports overrides that do not match the listed tools. */
export function checkOverriddenTools(config: unknown, knownTools: KnownTools, report: Report): void {
  for (const { pointer, written, upstream } of listOverridePaths(config))
    for (const [glob, spec] of Object.entries(written)) {
      const tools = findMatchingTools(glob, upstream, knownTools)
      // Another check reports globs without a match.
      if (tools.length > 0) checkSpec(spec as OverrideSpec, appendPointer(pointer, glob), tools, report)
    }
}

/** Finds the known tools that a glob matches. */
function findMatchingTools(glob: string, upstream: string | undefined, knownTools: KnownTools): readonly JsonObject[] {
  const fits = compileGlobs(glob)
  return [...knownTools].flatMap(([name, tools]) =>
    upstream !== undefined && upstream !== name
      ? []
      : tools.filter(tool => fits(upstream === undefined ? tool.exposed : tool.original)).map(({ value }) => value),
  )
}

function checkSpec(spec: OverrideSpec, pointer: string, tools: readonly JsonObject[], report: Report): void {
  const schemas = tools.map(({ inputSchema }) => (isObject(inputSchema) ? inputSchema : {}))
  for (const text of Object.keys(spec.texts ?? {}))
    if (!schemas.some(schema => hasPointer(schema, text)))
      reportWarning(appendPointer(`${pointer}/texts`, text), `no schema contains "${text}"`, report)
  for (const name of Object.keys(spec.arguments ?? {}))
    if (!schemas.some(schema => Object.hasOwn(readMap(schema, 'properties'), name)))
      reportWarning(appendPointer(`${pointer}/arguments`, name), `no matching tool has an argument "${name}"`, report)
}

function reportWarning(pointer: string, message: string, report: Report): void {
  report({ pointer, message, severity: 'warning' })
}
