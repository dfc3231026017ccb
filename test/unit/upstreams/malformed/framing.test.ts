import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { testClient } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { type RawServer, rawServer, startMalformed } from '../../../fixtures/malformed-upstream.ts'
import type { Said } from '../transports/network-upstream.ts'

/** One way to write an answer; `$N` is the id, `$S` the same as a text, `$X` 70,000 letters. */
interface Variant {
  readonly server: string
  readonly pieces: readonly string[]
  /** Content type of an HTTP answer. */
  readonly type?: string
  /** Error code of a call that cannot be answered; absent if it is. */
  readonly fails?: string
}

const BOM = '\uFEFF'
const IDS = ['$N', '$S']
const BOMS = ['', BOM]
const BATCH = 16

/** Answers that say "ok", with the id in front or at the end, and spaces between all. */
function answers(space: string): string[] {
  const [version, result] = ['"jsonrpc":"2.0"', '"result":{"content":[{"type":"text","text":"ok"}]}']
  return IDS.flatMap(id => [
    `{${[version, `"id":${space}${id}`, result].join(`${space},${space}`)}}`,
    `{${[result, version, `"id"${space}:${id}`].join(`,${space}`)}${space}}`,
  ])
}

/** The text whole, and in pieces that cut all there is to cut. */
function cuts(whole: string): (readonly string[])[] {
  return [[whole], whole.match(/\$\w|[^$]{1,3}/gs) ?? []]
}

function httpBodies(): Variant[] {
  const spaces = ['', ' ', '\t', '\r\n', '\n \n']
  const texts = spaces.flatMap(space => BOMS.flatMap(bom => answers(space).map(answer => bom + space + answer + space)))
  return texts.flatMap(cuts).map(pieces => ({ server: 'json', type: 'application/json', pieces }))
}

function events(): Variant[] {
  const before = ['', ': comment\n\n', '\n\n', 'data:\n\n', 'event: other\ndata: {}\n\n', 'data: garbage\n\n']
  const ends = ['\n', '\r\n', '\r']
  const texts = before.flatMap(first =>
    BOMS.flatMap(bom =>
      answers(' ').flatMap(answer => {
        const data = `${first}event: message\ndata: ${bom}${answer}\n\n`
        return ends.map(end => data.replaceAll('\n', end))
      }),
    ),
  )
  const split = answers('').map(answer => `data: ${answer.replace(',', ',\ndata:')}\n\n`)
  const whole = [...texts, ...split].map((text, index) => cuts(text)[index % 2] ?? [])
  return whole.map(pieces => ({ server: 'events', type: 'text/event-stream', pieces }))
}

function lines(): Variant[] {
  const garbage = [
    '',
    'Server is running!\n',
    '\n\r\n',
    '{"jsonrpc":"2.0","id":\n',
    '$X\n',
    '{"method":"notifications/message","params":{"level":"info","data":"$X"},"jsonrpc":"2.0"}\n',
  ]
  const texts = garbage.flatMap(noise =>
    BOMS.flatMap(bom =>
      answers('\t').flatMap(answer => ['\n', '\r\n'].map(end => `${noise}${bom}${answer}${end}${noise}`)),
    ),
  )
  return texts.map((line, index) => cuts(line)[index % 2] ?? []).map(pieces => ({ server: 'stdio', pieces }))
}

/** Answers that are longer than `maxLine`. */
function longLines(): Variant[] {
  const texts = answers('').map(answer => `${answer.replace('ok', '$X')}\n`)
  return texts
    .flatMap(line => [line, line.replace('\n', '\r\n')])
    .map(line => ({ server: 'stdio', pieces: [line], fails: 'GW_TOO_LARGE' }))
}

const VARIANTS = [...httpBodies(), ...events(), ...lines(), ...longLines()]

test('answers in every frame that servers write are matched, and cost no other server', async t => {
  assert.ok(VARIANTS.length >= 300, `${VARIANTS.length} variants`)
  const { gateway, peers } = await startMalformed(t, {
    servers: { json: framed, events: framed },
    upstreams: {
      stdio: {
        type: 'stdio',
        command: process.execPath,
        args: [fileURLToPath(new URL('framed-server.mjs', import.meta.url))],
        maxLine: '64KiB',
        era: 'legacy',
      },
    },
  })
  await peers.useGood()
  const client = await testClient(gateway, { era: 'legacy' })
  cleanup(t, () => client.close())

  for (let from = 0; from < VARIANTS.length; from += BATCH)
    await Promise.all(
      VARIANTS.slice(from, from + BATCH).map(async ({ server, pieces, type, fails }) => {
        const params = { name: `${server}__frame`, arguments: { pieces, type } }
        const { result, error } = await client.request('tools/call', params)
        const shown = `${server} ${JSON.stringify(pieces.join(''))}: ${JSON.stringify(error)}`
        if (fails === undefined) assert.equal(contentOf(result), 'ok', shown)
        else assert.ok(JSON.stringify(error ?? result).includes(fails), shown)
      }),
    )

  await peers.useGood()
})

function contentOf(result: unknown): unknown {
  const { content } = (result ?? {}) as { content?: { text?: unknown }[] }
  return content?.[0]?.text
}

function render(piece: string, id: unknown): string {
  return piece.replaceAll('$N', String(id)).replaceAll('$S', `"${String(id)}"`)
}

const handshake = rawServer(method => (method === 'tools/list' ? { tools: TOOLS } : undefined))
const TOOLS = [{ name: 'frame', inputSchema: { type: 'object' } }]

const framed: RawServer = async (request, response) => {
  const { message } = request
  if (message?.method !== 'tools/call') return handshake(request, response)
  const { pieces, type } = argumentsOf(message.params)
  response.writeHead(200, { 'content-type': type })
  await writeAll(response, pieces, message.id)
  response.end()
}

function argumentsOf(params: Said['params']): { pieces: string[]; type: string } {
  return params?.arguments as { pieces: string[]; type: string }
}

async function writeAll(response: ServerResponse, pieces: readonly string[], id: unknown): Promise<void> {
  for (const piece of pieces) {
    response.write(render(piece, id))
    if (pieces.length > 1) await turn()
  }
}
