import {
  ANONYMOUS,
  type Call,
  type CatalogEntry,
  type ExplainStep,
  gatewayError,
  meant,
  type PluginHooks,
  type Principal,
} from '../../src/plugin.ts'
import { judge, type AccessRule } from './access.ts'
import type { KeyRing } from './key-ring.ts'

const KEY = 'key:'

const TOKEN = 'token:'

/** Says what the rules make of a call, and who `key:<name>` or `token:<subject>` is. */
export function explainRules(
  hooks: PluginHooks,
  rules: readonly AccessRule[],
  keys: KeyRing,
  issuers: readonly string[],
): void {
  hooks.callerNamed.tap(name => {
    if (name.startsWith(KEY)) return ofKey(name.slice(KEY.length), keys)
    const [issuer, second] = issuers
    if (!name.startsWith(TOKEN) || issuer === undefined) return undefined
    const text = name.slice(TOKEN.length)
    const own = issuers.find(one => text.startsWith(`${one} `))
    if (own === undefined && second !== undefined) return undefined
    const subject = own === undefined ? text : text.slice(own.length + 1).trimStart()
    return { issuer: own ?? issuer, client: '', subject, scopes: [] }
  })
  hooks.explain.tap((steps, { exchange, entry, call }) => {
    const { principal } = exchange
    if (principal === ANONYMOUS) return [...steps, ownersPipe()]
    const subject = entry ?? hiddenEntry(steps, exchange.params?.name) ?? unlisted(call)
    const about = subject === undefined ? [] : rules.filter(rule => rule.isAbout(subject))
    const verdict = judge(about, principal)
    if (verdict === 'hidden')
      return [...steps, step('refuses', 'a rule is not for this caller', about, rules)]
    if (verdict !== 'allowed') {
      const text = `the caller lacks the scope ${verdict.needs.filter(one => !principal.scopes.includes(one)).join(', ')}`
      return [...steps, step('refuses', text, about, rules)]
    }
    const text = about.length === 0 ? 'no rule is about it' : 'the rules let this caller use it'
    return [...steps, step('passes', text, about, rules)]
  })
}

function ofKey(name: string, keys: KeyRing): Principal {
  const found = keys.named(name)
  if (found !== undefined) return found
  throw gatewayError('GW_CALLER_UNKNOWN', { caller: `${KEY}${name}`, known: meant(name, keys.names) })
}

function ownersPipe(): ExplainStep {
  return {
    by: 'auth',
    at: 'request',
    does: 'passes',
    text: 'a local pipe has no rules; say who calls with --as',
  }
}

/** A tool that a rule hides is known from the step that says whose it is. */
function hiddenEntry(steps: readonly ExplainStep[], name: unknown): CatalogEntry | undefined {
  const upstream = steps.find(({ at }) => at === 'listing')?.facts?.upstream
  if (typeof upstream !== 'string' || typeof name !== 'string') return undefined
  return { kind: 'tools', upstream, original: name, exposed: name, value: {} }
}

function unlisted(call: Call | undefined): CatalogEntry | undefined {
  if (call === undefined) return undefined
  return { kind: 'tools', upstream: call.upstream, original: '', exposed: '', value: {} }
}

function step(
  does: ExplainStep['does'],
  text: string,
  about: readonly AccessRule[],
  rules: readonly AccessRule[],
): ExplainStep {
  const [first] = about
  const rule = first === undefined ? {} : { rule: `/auth/rules/${rules.indexOf(first)}` }
  return { by: 'auth', at: 'request', does, text, ...rule }
}
