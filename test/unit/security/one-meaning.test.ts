import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeHeaderValue } from '../../../src/protocol/headers.ts'
import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import { type Case, casesOf } from './one-meaning/cases.ts'
import { type Judged, type Received, type Said, type Way, world } from './one-meaning/world.ts'

test('what rules judge is what a server gets, however it is written, over five ways', async t => {
  const { judged, received, send } = await world(t)
  const cases = casesOf()
  const said = new Map<Case, Said>()
  await Promise.all(
    (Object.keys(send) as Way[]).map(async way => {
      for (const one of cases.filter(each => each.way === way)) said.set(one, await send[way](one.body, one.headers))
    }),
  )
  const arrived = await received()

  assert.ok(arrived.length > 60, `${arrived.length} messages arrived`)
  const problems = cases.flatMap(one => {
    const own = arrived.filter(({ body }) => one.marks.some(mark => body.includes(mark)))
    const found = [...wrongCount(one, said.get(one), own), ...own.flatMap(got => wrongCall(one, got, judged))]
    return found.map(problem => `${one.what} (${one.way}): ${problem}\n  ${one.body}`)
  })
  assert.deepEqual(problems.slice(0, 5), [], `${problems.length} problems in ${cases.length} cases`)
})

/** All that HTTP says of what is refused before it is a request of anybody. */
const STATUS: Readonly<Partial<Record<Way, number>>> = { modern: 400, rest: 400 }

function wrongCount(one: Case, said: Said | undefined, own: readonly Received[]): string[] {
  if (one.passes === undefined) return own.length > 1 ? ['more than one call arrived'] : []
  if (own.length !== one.passes) return [`${own.length} calls arrived in place of ${one.passes}`]
  return one.passes === 0 ? wrongRefusal(one, said) : []
}

function wrongRefusal({ code, way }: Case, { status, text }: Said = { text: '' }): string[] {
  const isRefused = way === 'rest' ? Number(status) >= 400 : /"error"/.test(text) && !/"result"/.test(text)
  if (!isRefused) return [`it was not refused: ${text}`]
  if (code === undefined) return []
  if (STATUS[way] !== undefined && STATUS[way] !== status) return [`HTTP ${status}`]
  return way === 'rest' || text.includes(`"code":${code},`) ? [] : [`another error than ${code}: ${text}`]
}

/** Compares what a server got with what the rules have seen of it, and with what was sent. */
function wrongCall(one: Case, got: Received, judged: readonly Judged[]): string[] {
  const mark = one.marks.find(each => got.body.includes(each)) ?? ''
  const seen = judged.filter(({ params }) => JSON.stringify(params).includes(mark))
  if (seen.length !== 1) return [`the rules saw it ${seen.length} times`]
  const message = JSON.parse(got.body) as JsonObject
  const pairs = [...pairsOf(message, got, seen[0] as Judged), ...(one.passes === 1 ? [sentPair(one, got)] : [])]
  return pairs
    .filter(([, server, other]) => JSON.stringify(server) !== JSON.stringify(other))
    .map(([what, server, other]) => `${what}: ${JSON.stringify(server)}, and not ${JSON.stringify(other)}`)
}

type Pair = readonly [what: string, server: unknown, other: unknown]

function pairsOf(message: JsonObject, { upstream, headers, body }: Received, judged: Judged): Pair[] {
  const params = message.params as JsonObject
  const named = isObject(params.ref) ? params.ref : params
  const name = String(named.name)
  const rules = isObject(judged.params.ref) ? judged.params.ref : judged.params
  const ofHeaders: Pair[] = [
    ['Mcp-Method', headers?.['mcp-method'], judged.method],
    ['Mcp-Name', decodeHeaderValue(String(headers?.['mcp-name'])), named === params ? name : 'undefined'],
  ]
  return [
    ['method', message.method, judged.method],
    ['name', `${upstream}__${name}`, rules.name],
    ['arguments', params.arguments, judged.params.arguments],
    ['names that stand twice', countWrittenNames(body) - countNames(message), 0],
    ...[message, params, named].map((part): Pair => {
      const names = Object.keys(part)
      return ['names that look alike', new Set(names.map(folded)).size, names.length]
    }),
    ...(headers === undefined ? [] : ofHeaders),
  ]
}

/** The arguments that arrived, and those that were sent, each number with its digits. */
function sentPair({ body, way }: Case, got: Received): Pair {
  const argumentsOf = (text: string, isBare: boolean): unknown => {
    const whole = exact(text) as JsonObject
    return (isBare ? whole : (whole.params as JsonObject)).arguments
  }
  return ['arguments as written', argumentsOf(got.body, false), argumentsOf(body, way === 'rest')]
}

function countWrittenNames(text: string): number {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce<number>((sum, inner) => sum + countNames(inner), own)
}

/** One text for names that are the same to readers which fold as Unicode does: the long s is an s, the Kelvin sign a k. */
function folded(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}

/** A JSON value whose numbers are the text in which they are written. */
function exact(text: string): unknown {
  const reviver = (_name: string, value: unknown, { source }: { source?: string }): unknown =>
    typeof value === 'number' ? `number ${source}` : value
  return JSON.parse(text.replace(/^\uFEFF/, ''), reviver as never)
}
