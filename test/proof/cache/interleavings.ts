import { type ClientConnection, type Gateway, createGateway } from '../../../src/index.ts'
import type { Plugin, Principal } from '../../../src/plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { telling } from './telling-upstream.ts'

export interface Interleaved {
  readonly turns: number
  readonly upstreamCalls: number
  readonly reloads: number
  readonly callers: number
  /** All that somebody got that was made for another, by another configuration, or for another question. */
  readonly foreign: readonly string[]
}

interface Caller {
  readonly principal: Principal
  readonly session: { id: string }
  readonly connection: ClientConnection
}

const SUBJECTS = ['ann', 'bob', 'ann"', 'ann","bob', '']
const SCOPES = [[], ['read'], ['read', 'write'], ['read,write']]
const UPSTREAMS = ['open', 'own', 'apart'] as const
const AT_ONCE = 8
const FRESH_SESSIONS_OF = 24

/**
 * Lets callers of many names, scopes and sessions ask the same things at random, several at a time, while the
 * configuration changes under them, and collects what anybody got that was not theirs.
 */
export async function interleave(seed: number, turns: number): Promise<Interleaved> {
  const random = randomOf(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const made: { calls: number }[] = []
  const opened: { id: string }[] = []
  const state = { generation: 0 }
  const plugins = [telling(made), callers(opened), scoped()]
  const gateway = await createGateway(configOf(state.generation), { plugins })
  const known: Caller[] = []
  const foreign: string[] = []
  let reloads = 0
  for (let turn = 0; turn < turns; turn += AT_ONCE) {
    if (random() < 0.03) {
      state.generation++
      reloads++
      await gateway.reload(configOf(state.generation))
    }
    if (known.length < FRESH_SESSIONS_OF || random() < 0.02)
      known.push(await open(gateway, opened, pick(SUBJECTS), pick(SCOPES)))
    const asking = Array.from({ length: AT_ONCE }, () => pick(ASKED)(pick(known), pick(UPSTREAMS), pick([1, '1'])))
    const answers = await Promise.all(asking)
    for (const problem of answers.flatMap(check => check(state.generation))) foreign.push(problem)
  }
  await gateway.close()
  const upstreamCalls = made.reduce((sum, { calls }) => sum + calls, 0)
  return { turns, upstreamCalls, reloads, callers: known.length, foreign }
}

function configOf(generation: number): JsonObject {
  const url = (query: string): string => `http://127.0.0.1:1/?generation=${generation}${query}`
  const rule = generation % 3 === 0 ? { deny: ['*secret'] } : {}
  return {
    upstreams: {
      open: { type: 'http', url: url('&public'), tools: rule },
      own: { type: 'http', url: url('') },
      apart: { type: 'http', url: url('&public'), isolation: 'session' },
    },
    cache: {
      lists: '1h',
      resources: { ttl: '1h', staleWhileRevalidate: '1h' },
      tools: { '*__get*': '1h', '*__write': { purges: ['*__get*'] } },
    },
  }
}

/** A caller is known by its client's name: there is nothing to verify in a proof. */
function callers(opened: { id: string }[]): Plugin<never> {
  return {
    name: 'callers',
    setup({ hooks }) {
      hooks.session.tap(session => {
        Object.assign(session, { principal: JSON.parse(session.client.info.name) as Principal })
        opened.push(session)
      })
    },
  }
}

/** Secrets are for those who may write. */
function scoped(): Plugin<never> {
  return {
    name: 'scoped',
    setup({ hooks }) {
      hooks.catalog.tap((entries, { principal }) =>
        entries.filter(({ original }) => original !== 'get_secret' || principal.scopes.includes('write')),
      )
    },
  }
}

async function open(
  gateway: Gateway,
  opened: { id: string }[],
  subject: string,
  scopes: readonly string[],
): Promise<Caller> {
  const principal = { issuer: 'proof', client: 'proof', subject, scopes }
  const connection = await gateway.connect({ client: { name: JSON.stringify(principal), version: '1' } })
  return { principal, session: opened.at(-1) as { id: string }, connection }
}

type Check = (generation: number) => string[]
type Asked = (caller: Caller, upstream: string, value: unknown) => Promise<Check>

/** All that one caller asks; resolves with what is wrong about the answer. */
const ASKED: readonly Asked[] = [
  (caller, upstream, value) => called(caller, upstream, 'get', value),
  (caller, upstream, value) => called(caller, upstream, 'get_secret', value),
  (caller, upstream, value) => called(caller, upstream, 'write', value),
  async caller => {
    const { tools } = await caller.connection.request('tools/list')
    return generation => (tools as JsonObject[]).flatMap(tool => listed(tool, caller, generation))
  },
]

async function called(caller: Caller, upstream: string, tool: string, value: unknown): Promise<Check> {
  const params = { name: `${upstream}__${tool}`, arguments: { value } }
  const mayNot = tool === 'get_secret' && !caller.principal.scopes.includes('write')
  try {
    const told = await caller.connection.request('tools/call', params)
    const isAsked = JSON.stringify(told.asked) === JSON.stringify({ value })
    return generation => [
      ...(mayNot ? [`${who(caller)} was given ${tool}`] : []),
      ...(isAsked ? [] : [`${who(caller)} asked ${JSON.stringify(value)} and got ${JSON.stringify(told.asked)}`]),
      ...theirs(told, caller, generation, false),
    ]
  } catch {
    // A name that is filtered for this caller or configuration.
    return () => []
  }
}

function listed({ name, description }: JsonObject, caller: Caller, generation: number): string[] {
  const told = JSON.parse(String(description)) as JsonObject
  const [upstream, tool] = String(name).split('__')
  const isHidden =
    tool === 'get_secret' &&
    (!caller.principal.scopes.includes('write') || (upstream === 'open' && generation % 3 === 0))
  // Lists come from a connection that all share, and its session may be any of the caller's.
  return [...(isHidden ? [`${who(caller)} sees ${String(name)}`] : []), ...theirs(told, caller, generation, true)]
}

function theirs(told: JsonObject, caller: Caller, generation: number, isList: boolean): string[] {
  const problems: string[] = []
  if (told.generation !== String(generation))
    problems.push(`generation ${String(told.generation)} was answered in ${generation}`)
  if (told.owner === 'public') return problems
  const [subject, scopes, session] = JSON.parse(String(told.owner)) as [string, string[], string]
  const isSame = subject === caller.principal.subject && scopes.join(' ') === [...caller.principal.scopes].join(' ')
  if (!isSame) problems.push(`${who(caller)} got what is ${String(told.owner)}'s`)
  if (told.apart === true && !isList && session !== caller.session.id)
    problems.push(`${who(caller)} got another session's`)
  return problems
}

function who({ principal, session }: Caller): string {
  return JSON.stringify([principal.subject, principal.scopes, session.id])
}

/** Numbers that are the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
