import type { Report } from '../util/finding.ts'
import { appendPointer } from '../util/finding.ts'
import { readList, readMap, readText, readValue } from '../util/plain-data.ts'
import { suggestName } from '../util/suggest.ts'
import { checkGlobs, visitPath } from './checks/globs.ts'
import { checkListeners, checkPaths } from './checks/listeners.ts'
import { checkCommands, checkPools, checkPrefixes } from './checks/upstreams.ts'
import { PRINCIPAL_PATHS } from './keys.gen.ts'

/** Names that rules may refer to, including those added by plugins. */
interface RuleNames {
  readonly upstreams: readonly string[]
  readonly listeners: readonly string[]
}

/** A built-in plugin's part in configuration checks. */
export interface Feature {
  readonly claims?: {
    readonly section?: string
    readonly adds?: { readonly upstreams?: readonly string[]; readonly listeners?: readonly string[] }
  }
  check?(
    config: unknown,
    report: Report,
    own: { readonly options: never; readonly pointer: string; readonly names: RuleNames },
  ): void
}

/** Checks semantics beyond the schema: references, clashes, unreachable settings. Accepts any value. */
export function checkConfig(
  config: unknown,
  features: readonly Feature[],
  isFile: (path: string) => boolean,
  report: Report,
): void {
  checkGlobs(config, report)
  checkPrefixes(config, report)
  checkListeners(config, report)
  checkPaths(config, report)
  checkCommands(config, isFile, report)
  checkPools(config, report)
  checkCallers(config, report)
  const installed = features.filter(feature => getSection(feature, config) !== undefined)
  checkAdded(config, installed, report)
  const names = {
    upstreams: listNames(config, 'upstreams', installed),
    listeners: listNames(config, 'listeners', installed),
  }
  for (const feature of features) {
    const { section } = feature.claims ?? {}
    const options = getSection(feature, config) as never
    feature.check?.(config, report, { options, pointer: section === undefined ? '' : `/${section}`, names })
  }
  checkPresence(config, names.upstreams, report)
}

function getSection({ claims }: Feature, config: unknown): unknown {
  return claims?.section === undefined ? undefined : readValue(config, claims.section)
}

function listNames(config: unknown, kind: 'upstreams' | 'listeners', installed: readonly Feature[]): string[] {
  return [...Object.keys(readMap(config, kind)), ...installed.flatMap(({ claims }) => claims?.adds?.[kind] ?? [])]
}

/** Reports names reserved by a plugin. */
function checkAdded(config: unknown, installed: readonly Feature[], report: Report): void {
  for (const { claims } of installed)
    for (const kind of ['upstreams', 'listeners'] as const)
      for (const name of claims?.adds?.[kind] ?? []) {
        if (!Object.hasOwn(readMap(config, kind), name)) continue
        report({
          pointer: appendPointer(`/${kind}`, name),
          message: `"${name}" is reserved by plugin "${claims?.section ?? ''}"`,
          hint: 'choose another name',
          on: 'key',
        })
      }
}

function checkPresence(config: unknown, upstreams: readonly string[], report: Report): void {
  if (Object.keys(readMap(config, 'listeners')).length === 0) {
    report({
      pointer: '',
      message: 'no listeners configured: only local clients can connect, with gateway attach or serve --stdio',
      hint: 'add one under "listeners:" for other clients',
      severity: 'warning',
    })
  }
  if (upstreams.length === 0) {
    report({
      pointer: '',
      message: 'no upstreams configured: there is nothing to serve',
      hint: 'add one under "upstreams:"',
      severity: 'warning',
    })
  }
}

/** Reports rules with ambiguous callers. */
function checkCallers(config: unknown, report: Report): void {
  const auth = readValue(config, 'auth')
  if (auth === undefined) return
  const named = [...readList(auth, 'jwt'), ...readList(auth, 'certificates')]
  const issuers = [...new Set(named.map(spec => readText(spec, 'issuer') ?? ''))]
  const hasKeys = readList(auth, 'keys').length > 0 || readText(auth, 'keysFile') !== undefined
  for (const { pointer, pattern } of listCallerPatterns(config)) {
    const ambiguity = explainAmbiguity(pattern, issuers, hasKeys)
    if (ambiguity !== undefined) report({ pointer, ...ambiguity })
  }
}

/** Explains why a caller pattern is ambiguous; undefined if it is clear. */
function explainAmbiguity(
  pattern: string,
  issuers: readonly string[],
  hasKeys: boolean,
): { message: string; hint: string | undefined } | undefined {
  const [first = '', ...rest] = pattern.split(' ')
  const isQualified = [...issuers, 'api-key'].some(issuer => pattern.startsWith(`${issuer} `))
  if (pattern === '*' || isQualified) return undefined
  if (rest.length > 0 && first.includes('://'))
    return { message: `unknown issuer "${first}"`, hint: suggestName(first, issuers) }
  if (hasKeys || issuers.length < 2) return undefined
  return {
    message: `"${pattern}" is ambiguous: several issuers are configured`,
    hint: `write "${issuers[0] ?? ''} ${pattern}"`,
  }
}

interface CallerPattern {
  readonly pointer: string
  readonly pattern: string
}

/** Lists every caller pattern in rules. */
function listCallerPatterns(config: unknown): CallerPattern[] {
  const named: CallerPattern[] = []
  const add = (value: unknown, pointer: string): void => {
    if (typeof value === 'string') named.push({ pointer, pattern: value })
    else if (Array.isArray(value)) value.forEach((inner, i) => add(inner, `${pointer}/${i}`))
  }
  for (const path of PRINCIPAL_PATHS) visitPath(config, path, add)
  return named
}
