import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isObject } from '../../../src/protocol/json/json.ts'
import { decodeHeaderValue } from '../../../src/protocol/headers.ts'
import { casesOf, type Case } from './one-meaning/cases.ts'
import { memberOf, plain, read, READERS, type Node, type Reader } from './one-meaning/readings.ts'
import { world, type Judged, type Received, type Said, type Way } from './one-meaning/world.ts'

const CASES = 620
const SEED = 4

/** Numbers as JavaScript takes them: what rules see is no text any more. */
const asNumber = (text: string): string =>
  Number.isFinite(Number(text)) ? `number ${Number(text)}` : 'word null'
const asWritten = (text: string): string => `number ${text}`
const [EXACT] = READERS as [Reader]

describe('a message has one meaning', () => {
  it(`what rules judge is what a server gets, however it is written: ${CASES} cases over five ways`, async t => {
    const { judged, received, send } = await world(t)
    const cases = casesOf(CASES, SEED)
    const said = new Map<Case, Said>()
    await Promise.all(
      (Object.keys(send) as Way[]).map(async way => {
        for (const one of cases.filter(each => each.way === way))
          said.set(one, await send[way](one.body, one.headers))
      }),
    )
    const arrived = await received()

    const wrong = cases.flatMap(one => problemsOf(one, said.get(one), judged, arrived))
    assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} of ${cases.length} cases`)
    assert.ok(cases.filter(({ passes }) => passes === 0).length > CASES / 3)
    assert.ok(cases.filter(({ passes = 0 }) => passes > 0).length > CASES / 4)
  })
})

function problemsOf(
  one: Case,
  said: Said | undefined,
  judged: readonly Judged[],
  arrived: readonly Received[],
): string[] {
  const found = [
    ...asExpected(one, said, arrived),
    ...one.marks.flatMap(mark => asJudged(mark, judged, arrived)),
  ]
  if (one.passes === 1) found.push(...asSent(one, arrived))
  return found.map(
    problem => `${one.kind} (${one.way}): ${problem}\n  ${one.body}\n  ${JSON.stringify(said)}`,
  )
}

/** Compares how many calls arrived with how many should have, and what a client hears that is refused. */
function asExpected(one: Case, said: Said | undefined, arrived: readonly Received[]): string[] {
  const { length } = arrived.filter(({ body }) => one.marks.some(mark => body.includes(mark)))
  if (one.passes === undefined) return length > 1 ? ['more than one call arrived'] : []
  if (length !== one.passes) return [`${length} calls arrived in place of ${one.passes}`]
  return length === 0 ? asRefused(one, said) : []
}

function asRefused({ code, way }: Case, { status, text }: Said = { text: '' }): string[] {
  const isMcp = way !== 'rest'
  const isRefused = isMcp ? /"error"/.test(text) && !/"result"/.test(text) : Number(status) >= 400
  if (!isRefused) return ['it was not refused']
  if (code === undefined) return []
  const wrong = STATUS[way] === undefined || STATUS[way] === status ? [] : ['another HTTP status']
  return isMcp && !text.includes(`"code":${code},`) ? [...wrong, `another error than ${code}`] : wrong
}

/** All that HTTP says of what is refused before it is a request of anybody. */
const STATUS: Readonly<Partial<Record<Way, number>>> = { modern: 400, rest: 400 }

/** Compares what every reader of what arrived takes it for with what the rules have seen. */
function asJudged(mark: string, judged: readonly Judged[], arrived: readonly Received[]): string[] {
  const seen = judged.filter(({ params }) => JSON.stringify(params).includes(mark))
  return arrived
    .filter(({ body }) => body.includes(mark))
    .flatMap(one => {
      if (seen.length !== 1) return [`the rules saw it ${seen.length} times`]
      return READERS.flatMap(reader => differences(read(one.body), seen[0] as Judged, one, reader))
    })
}

function differences(
  message: Node,
  { method, params }: Judged,
  { upstream, headers }: Received,
  reader: Reader,
): string[] {
  const got = memberOf(message, 'params', reader)
  const ref = memberOf(got, 'ref', reader)
  const name = textOf(memberOf(ref ?? got, 'name', reader))
  const judged = isObject(params.ref) ? params.ref.name : params.name
  const pairs: (readonly [what: string, server: unknown, rules: unknown])[] = [
    ['method', textOf(memberOf(message, 'method', reader)), method],
    ['name', `${upstream}__${name ?? ''}`, judged],
    ['arguments', plain(memberOf(got, 'arguments', reader), reader, asNumber), asPlain(params.arguments)],
  ]
  if (headers !== undefined)
    pairs.push(
      ['Mcp-Method', headers['mcp-method'], method],
      ['Mcp-Name', decodeHeaderValue(String(headers['mcp-name'])), ref === undefined ? name : 'undefined'],
    )
  return pairs
    .filter(([, server, rules]) => JSON.stringify(server) !== JSON.stringify(rules))
    .map(
      ([what, server, rules]) =>
        `${what}: a server may read ${JSON.stringify(server)}, the rules saw ${JSON.stringify(rules)}`,
    )
}

/** Checks that the arguments arrived as they were written, each number with its digits. */
function asSent({ body, marks: [mark = ''], way }: Case, arrived: readonly Received[]): string[] {
  const got = arrived.find(one => one.body.includes(mark))?.body ?? '{}'
  const argumentsOf = (text: string, isBare: boolean): unknown => {
    const whole = read(text)
    const params = isBare ? whole : memberOf(whole, 'params', EXACT)
    return plain(memberOf(params, 'arguments', EXACT), EXACT, asWritten)
  }
  const [sent, received] = [argumentsOf(body, way === 'rest'), argumentsOf(got, false)]
  return JSON.stringify(sent) === JSON.stringify(received) ? [] : ['other arguments arrived than were sent']
}

function asPlain(value: unknown): unknown {
  return value === undefined ? undefined : plain(read(JSON.stringify(value)), EXACT, asNumber)
}

function textOf(node: Node | undefined): string | undefined {
  return node?.kind === 'string' ? node.text : undefined
}
