import { RE2JS, RE2JSException } from 're2js'
import { callers, type Principal } from '../../../src/plugin.ts'
import type { RouteDecision } from '../types/tasks.ts'
import type { AgentsConfig } from '../types/settings.ts'

/** Characters of a prompt that are looked through: what a task is about is said early. */
const MAX_EXAMINED = 16_384

const REGEX = 're:'

type RoutingConfig = AgentsConfig['routing']

/** Requirements of a task that decide which agent gets it. */
export interface RouteRequest {
  readonly agent: string | undefined
  readonly taskType: string | undefined
  readonly capabilities: readonly string[]
  readonly prompt: string
  readonly caller: Pick<Principal, 'issuer' | 'subject'>
}

/** One agent at the moment of a decision. */
export interface AgentFactsNow {
  readonly id: string
  readonly capabilities: ReadonlySet<string>
  readonly priority: number
  /** Why it cannot work at all now; undefined when it can. */
  readonly unfit: string | undefined
  readonly onLimit: 'fallback' | 'queue' | 'reject'
  readonly running: number
  readonly concurrent: number
  readonly queued: number
  readonly queue: number
  readonly queueTimeoutMs: number
  /** The limit that is spent, and for how long. */
  readonly spent: { readonly limit: 'perMinute' | 'perDay'; readonly retryAfterMs: number } | undefined
}

/** A decision; `refused` when an agent whose limit rejects was the first choice. */
export interface Routed {
  readonly decision: RouteDecision
  readonly refused:
    | {
        readonly agent: string
        readonly isQueue: boolean
        readonly why: string
        readonly retryAfterMs: number
      }
    | undefined
}

/** Agents that are preferred, in order, and whether no other may have it. */
interface Preference {
  readonly by: string
  readonly prefer: readonly string[]
  readonly only: boolean
}

interface Standing {
  readonly agent: AgentFactsNow
  readonly is: 'free' | 'busy' | 'spent' | 'full' | 'unfit'
  readonly why: string
}

/** Milliseconds after which somebody with no place is told to come back: nobody knows when one is free. */
const PLACE_MS = 1000

/**
 * Chooses the agent of a task: the one that was named; else by the first rule that fits, those of a higher priority first, else by `default`; the others behind
 * them by priority, then the least busy one, then by id. Of those, only who can do it, is healthy, and within its limits.
 * The same facts make the same decision. @throws SyntaxError for a keyword that is no pattern
 */
export function routing(
  config: RoutingConfig,
  auth?: Parameters<typeof callers>[1],
): (wanted: RouteRequest, agents: readonly AgentFactsNow[]) => Routed {
  const written = (config?.rules ?? []).map((rule, index) => ({
    by: nameOf(rule, index),
    priority: rule.priority ?? 0,
    prefer: rule.prefer,
    only: rule.only,
    types: rule.taskTypes === undefined ? undefined : new Set(rule.taskTypes),
    hasKeyword: rule.keywords === undefined ? undefined : keywordTest(rule.keywords),
    isFor: rule.principals === undefined ? undefined : callers(rule.principals, auth),
  }))
  const rules = written.sort((one, other) => other.priority - one.priority)
  const usual = config?.default ?? []

  const preferenceOf = (wanted: RouteRequest): Preference => {
    if (wanted.agent !== undefined) return { by: 'explicit', prefer: [wanted.agent], only: true }
    const rule = rules.find(
      ({ types, hasKeyword, isFor }) =>
        (types === undefined || (wanted.taskType !== undefined && types.has(wanted.taskType))) &&
        (isFor === undefined || isFor(wanted.caller)) &&
        (hasKeyword === undefined || hasKeyword(wanted.prompt)),
    )
    if (rule !== undefined) return rule
    return { by: usual.length > 0 ? 'default' : 'priority', prefer: usual, only: false }
  }

  return (wanted, agents) => {
    const preference = preferenceOf(wanted)
    return decide(wanted, preference, inOrder(preference.prefer, usual, agents))
  }
}

function nameOf({ id, priority = 0 }: NonNullable<RoutingConfig>['rules'][number], index: number): string {
  return `rule:${id ?? index + 1}${priority === 0 ? '' : ` (priority ${priority})`}`
}

/** Preferred ones as they were named, then those of `default`, then the others. */
function inOrder(
  prefer: readonly string[],
  usual: readonly string[],
  agents: readonly AgentFactsNow[],
): AgentFactsNow[] {
  const named = [...new Set([...prefer, ...usual])]
  const place = ({ id }: AgentFactsNow): number => {
    const at = named.indexOf(id)
    return at < 0 ? named.length : at
  }
  const load = ({ running, queued, concurrent }: AgentFactsNow): number => (running + queued) / concurrent
  return [...agents].sort(
    (one, other) =>
      place(one) - place(other) ||
      other.priority - one.priority ||
      load(one) - load(other) ||
      (one.id < other.id ? -1 : 1),
  )
}

function decide(
  wanted: RouteRequest,
  { by, prefer, only }: Preference,
  agents: readonly AgentFactsNow[],
): Routed {
  const standings = agents.map(agent => standingOf(agent, wanted, only ? prefer : undefined))
  const taken: string[] = []
  const later: string[] = []
  let refusing: Standing | undefined
  for (const standing of standings) {
    const role = roleOf(standing, only)
    if (role === 'first') taken.push(standing.agent.id)
    else if (role === 'later') later.push(standing.agent.id)
    else if (role === 'refuses' && taken.length + later.length === 0) {
      refusing = standing
      break
    }
  }
  const chosen = [...taken, ...later]
  const candidates = standings.map(({ agent: { id }, is, why }) => {
    const isPassedOver = refusing !== undefined && is !== 'unfit' && refusing.agent.id !== id
    const reason = isPassedOver ? `${refusing?.agent.id} is preferred, and rejects` : why
    return { agent: id, fits: chosen.includes(id), why: reason }
  })
  return {
    decision: { chosen, by, candidates, passedOver: passedOver(standings, chosen[0]) },
    refused: refusing && refusalOf(refusing),
  }
}

/** Those before the chosen one that could have done it at another time. */
function passedOver(standings: readonly Standing[], chosen: string | undefined): RouteDecision['passedOver'] {
  const at = standings.findIndex(({ agent }) => agent.id === chosen)
  return standings
    .slice(0, Math.max(at, 0))
    .filter(({ agent, is, why }) => is !== 'unfit' || why === agent.unfit)
    .map(({ agent, why }) => ({ agent: agent.id, why }))
}

/** Rank of an agent: a choice at once, behind those that are free, the end of the search, or passed over. */
function roleOf({ agent: { onLimit }, is }: Standing, only: boolean): 'first' | 'later' | 'refuses' | 'none' {
  if (is === 'unfit') return 'none'
  if (is === 'free' || (is !== 'full' && onLimit === 'queue')) return 'first'
  if (is === 'busy' && onLimit === 'fallback') return 'later'
  // One that was named has nobody to fall back to.
  return onLimit === 'fallback' && !only ? 'none' : 'refuses'
}

function refusalOf({ agent: { id, spent }, is, why }: Standing): Routed['refused'] {
  return { agent: id, isQueue: is === 'full', why, retryAfterMs: spent?.retryAfterMs ?? PLACE_MS }
}

function standingOf(
  agent: AgentFactsNow,
  wanted: RouteRequest,
  among: readonly string[] | undefined,
): Standing {
  const unfit = whyUnfit(agent, wanted, among)
  if (unfit !== undefined) return { agent, is: 'unfit', why: unfit }
  const { running, concurrent, queued, queue, spent, onLimit, queueTimeoutMs } = agent
  if (spent !== undefined) {
    const seconds = Math.ceil(spent.retryAfterMs / 1000)
    const why = `its limit ${spent.limit} is spent, for ${seconds} s more`
    const canWait = onLimit === 'queue' && spent.retryAfterMs <= queueTimeoutMs && queued < queue
    return { agent, is: onLimit === 'queue' && !canWait ? 'full' : 'spent', why }
  }
  if (running < concurrent && queued === 0) return { agent, is: 'free', why: 'it is free' }
  if (queued >= queue) return { agent, is: 'full', why: `it is busy, and ${queued} wait already` }
  return { agent, is: 'busy', why: `it is busy, ${queued} wait` }
}

function whyUnfit(
  { id, capabilities, unfit }: AgentFactsNow,
  wanted: RouteRequest,
  among: readonly string[] | undefined,
): string | undefined {
  if (among !== undefined && !among.includes(id))
    return wanted.agent === undefined ? 'the rule allows others only' : 'another one was named'
  const missing = wanted.capabilities.filter(capability => !capabilities.has(capability))
  if (missing.length > 0) return `it lacks ${missing.join(', ')}`
  return unfit
}

/** A test for "does this prompt have one of these words"; `re:` begins a regular expression. @throws SyntaxError */
export function keywordTest(keywords: readonly string[]): (prompt: string) => boolean {
  const patterns = keywords
    .filter(keyword => keyword.startsWith(REGEX))
    .map(keyword => pattern(keyword.slice(REGEX.length)))
  const words = keywords.filter(keyword => !keyword.startsWith(REGEX)).map(keyword => keyword.toLowerCase())
  return prompt => {
    const examined = prompt.slice(0, MAX_EXAMINED)
    const lower = examined.toLowerCase()
    return words.some(word => hasWord(lower, word)) || patterns.some(found => found.matcher(examined).find())
  }
}

/** Its time is linear in the text, whoever wrote the pattern; so it has neither look-around nor references. */
function pattern(written: string): RE2JS {
  try {
    return RE2JS.compile(written, RE2JS.CASE_INSENSITIVE)
  } catch (error) {
    if (error instanceof RE2JSException) throw new SyntaxError(error.message, { cause: error })
    throw error
  }
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!isJoined(text, at) && !isJoined(text, at + word.length)) return true
  return false
}

/** True if there are letters or digits on both sides of this place: then the word is a part of another one. */
function isJoined(text: string, at: number): boolean {
  return isLetter(text.charAt(at - 1)) && isLetter(text.charAt(at))
}

function isLetter(character: string): boolean {
  return /^[\p{L}\p{N}_]$/u.test(character)
}
