import type { Ask, Era } from './load/messages.ts'
import type { Wiring } from './subjects.ts'

/** One kind of work, done by every subject of a wiring. */
export interface Work {
  /** Short, for `--only` and the result file. */
  readonly key: string
  readonly title: string
  readonly wiring: Wiring
  readonly ask: Ask
  readonly concurrency: readonly number[]
  /** Done in a quick run too, with these numbers in flight. */
  readonly quick?: readonly number[]
  /** The other gateways do it too, with 16 in flight. */
  readonly hasRivals?: boolean
  /** The bridging yardsticks know one reply for each request. */
  readonly lacksRaw?: boolean
  /** So much is done for each call that a few of them warm everything up. */
  readonly isHeavy?: boolean
}

const FLIGHTS = [1, 16, 64, 256]
const MEGA_BYTES = 1024 * 1024

function call(tool: string, era: Era = 'legacy', more: Partial<Ask> = {}): Ask {
  return { era, method: 'tools/call', tool, ...more }
}

const SMALL = call('small')
const MODERN = call('small', 'modern')
const TEN = call('kb10')
const MEGA = call('mb1')
const UPLOAD = call('small', 'legacy', { bytes: MEGA_BYTES })
const PROGRESS = call('progress', 'legacy', { wantsProgress: true })

type Rest = Partial<Work> & { readonly at?: readonly number[] }

function work(key: string, title: string, wiring: Wiring, ask: Ask, { at = [16], ...rest }: Rest = {}): Work {
  return { key, title, wiring, ask, concurrency: at, ...rest }
}

const SMALLS: readonly Work[] = [
  work('small-http-http', 'small call, HTTP→HTTP', 'http-http', SMALL, {
    at: FLIGHTS,
    quick: [16, 64],
    hasRivals: true,
  }),
  work('small-http-http-modern', 'small call, HTTP→HTTP, modern', 'http-http-modern', MODERN, {
    at: FLIGHTS,
    quick: [16],
    hasRivals: true,
  }),
  work('small-modern-legacy', 'small call, HTTP→HTTP, modern→legacy', 'http-http', MODERN, { quick: [16] }),
  work('small-legacy-modern', 'small call, HTTP→HTTP, legacy→modern', 'http-http-modern', SMALL, {
    quick: [16],
  }),
  work('small-http-stdio', 'small call, HTTP→stdio', 'http-stdio', SMALL, {
    at: FLIGHTS,
    quick: [16],
    hasRivals: true,
  }),
  work('small-stdio-stdio', 'small call, stdio→stdio', 'stdio-stdio', SMALL, {
    at: FLIGHTS,
    quick: [16],
    hasRivals: true,
  }),
  work('small-stdio-http', 'small call, stdio→HTTP', 'stdio-http', SMALL, {
    at: FLIGHTS,
    quick: [16],
    hasRivals: true,
  }),
]

const WIRINGS = [
  ['http-http', 'HTTP→HTTP'],
  ['http-stdio', 'HTTP→stdio'],
  ['stdio-stdio', 'stdio→stdio'],
  ['stdio-http', 'stdio→HTTP'],
] as const

/** One kind of work over all wirings; a quick run does the first. */
function everywhere(key: string, title: string, ask: Ask, more: Rest): readonly Work[] {
  return WIRINGS.map(([wiring, words], nth) =>
    work(`${key}-${wiring}`, `${title}, ${words}`, wiring, ask, {
      ...more,
      ...(nth === 0 ? { quick: [16] } : {}),
      // A gateway keeps no more than 1 MiB for a server that has yet to read it.
      ...(ask.bytes === MEGA_BYTES && wiring.endsWith('-stdio') ? { at: [1] } : {}),
      lacksRaw: ask.wantsProgress === true && (wiring === 'http-stdio' || wiring === 'stdio-http'),
    }),
  )
}

export const WORKS: readonly Work[] = [
  ...SMALLS,
  ...everywhere('10k', '10 KB reply', TEN, {}),
  ...everywhere('1m', '1 MB reply', MEGA, { hasRivals: true, isHeavy: true }),
  ...everywhere('upload', '1 MB request', UPLOAD, { hasRivals: true, isHeavy: true }),
  ...everywhere('progress', '3 progress notes and a reply', PROGRESS, { hasRivals: true }),
  work(
    'list-1000',
    'tools/list of 1,000 tools (10 × 100)',
    'lists',
    { era: 'legacy', method: 'tools/list' },
    {
      quick: [16],
      hasRivals: true,
      isHeavy: true,
    },
  ),
]
