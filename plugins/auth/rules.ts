import {
  callers,
  forbidsUris,
  globs,
  LISTS,
  type CatalogEntry,
  type Config,
  type Principal,
} from '../../src/plugin.ts'

type AccessRuleConfig = NonNullable<Config['auth']>['rules'][number]
type Section = 'tools' | 'prompts' | 'resources'
type Test = (text: string) => boolean

/** A rule, ready to use. */
export interface AccessRule {
  /** Whether it is about everything there is. */
  readonly isGeneral: boolean
  /** Whether it is about resources by their URI. */
  readonly isOfUris: boolean
  readonly isAbout: (entry: CatalogEntry) => boolean
  /** Whether it is about all that an upstream has. */
  readonly covers: (upstream: string) => boolean
  readonly scopes: readonly string[]
  readonly permits: (principal: Principal) => boolean
}

export function prepareRule(spec: AccessRuleConfig, auth: Config['auth']): AccessRule {
  const { upstreams, scopes = [], principals } = spec
  const ofUpstream = upstreams === undefined ? everything : globs(upstreams)
  const named: Partial<Record<Section, Test>> = {}
  for (const section of ['tools', 'prompts', 'resources'] as const) {
    const patterns = spec[section]
    if (patterns !== undefined) named[section] = (section === 'resources' ? forbidsUris : globs)(patterns)
  }
  const isNamed = Object.keys(named).length > 0
  return {
    isGeneral: !isNamed && upstreams === undefined,
    isOfUris: named.resources !== undefined,
    isAbout: ({ kind, upstream, exposed }) =>
      ofUpstream(upstream) && (!isNamed || named[LISTS[kind].capability]?.(exposed) === true),
    covers: upstream => !isNamed && ofUpstream(upstream),
    scopes,
    permits: principals === undefined ? everything : callers(principals, auth),
  }
}

/** What rules say to a caller: yes, that there is nothing, or which scopes it takes. */
export type Verdict = 'allowed' | 'hidden' | { readonly needs: readonly string[] }

/** Every rule must be met. A caller whom no scope would help is told nothing. */
export function judge(rules: readonly AccessRule[], principal: Principal): Verdict {
  if (rules.some(rule => !rule.permits(principal))) return 'hidden'
  const needs = [...new Set(rules.flatMap(rule => rule.scopes))]
  return needs.every(scope => principal.scopes.includes(scope)) ? 'allowed' : { needs }
}

function everything(): boolean {
  return true
}
